// Sends REQUESTS traces (a server span, two calls below it) to URL: send.mjs URL TOKEN proto|json gzip|none REQUESTS
import { trace, context, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { OTLPTraceExporter as Json } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as Proto } from '@opentelemetry/exporter-trace-otlp-proto';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [url, token, encoding, compression, requests] = process.argv.slice(2);
const exporter = new (encoding === 'proto' ? Proto : Json)({ url, compression, headers: { authorization: `Bearer ${token}` } });
const provider = new BasicTracerProvider({
  resource: new Resource({ 'service.name': 'shop', 'service.version': '1.2.3', 'host.name': 'node-1', 'hardware.generation': 'gen7' }),
  spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 100000 })],
});
const tracer = provider.getTracer('test');
const begin = Date.now() - 60000;

for (let i = 0; i < Number(requests); i++) {
  const at = begin + i * 10;
  const root = tracer.startSpan('GET /cart', { kind: SpanKind.SERVER, startTime: at, root: true });
  const inside = trace.setSpan(context.active(), root);
  tracer.startSpan('SELECT cart', { kind: SpanKind.CLIENT, startTime: at + 1, attributes: { 'db.system': 'mysql' } }, inside).end(at + 5);
  const failed = tracer.startSpan('render', { startTime: at + 5 }, inside);
  failed.setStatus({ code: SpanStatusCode.ERROR });
  failed.end(at + 8);
  root.end(at + 9);
}
await provider.forceFlush();
await provider.shutdown();
