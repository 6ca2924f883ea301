// Sends REQUESTS traces (a server span, two calls below it) to URL: send.mjs URL TOKEN proto|json|grpc gzip|none REQUESTS [STEP], which begin STEP ms (10) after each other
import { trace, context, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { OTLPTraceExporter as Json } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as Proto } from '@opentelemetry/exporter-trace-otlp-proto';
import { OTLPTraceExporter as Grpc } from '@opentelemetry/exporter-trace-otlp-grpc';
import { Metadata } from '@grpc/grpc-js';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [url, token, encoding, compression, requests, step = 10] = process.argv.slice(2);
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${token}`);
const exporter = encoding === 'grpc' ? new Grpc({ url, compression, metadata, timeoutMillis: 60000 })
  : new (encoding === 'proto' ? Proto : Json)({ url, compression, headers: { authorization: `Bearer ${token}` } });
const results = {};
const send = exporter.export.bind(exporter);
// over HTTP the SDK tries again by itself; over gRPC the one for JavaScript does not, as those for Go and Java do
const tryAgain = (spans, done, left = 60) => send(spans, (result) => {
  const word = result.code === 0 ? 'taken' : result.error.code ?? result.error.message;
  results[word] = (results[word] ?? 0) + 1;
  if (word === 14 && left) setTimeout(() => tryAgain(spans, done, left - 1), 500);
  else done(result);
});
exporter.export = (spans, done) => tryAgain(spans, done);
const provider = new BasicTracerProvider({
  resource: new Resource({ 'service.name': 'shop', 'service.version': '1.2.3', 'host.name': 'node-1', 'hardware.generation': 'gen7' }),
  spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 1000000, exportTimeoutMillis: 120000 })],
});
const tracer = provider.getTracer('test');
const begin = Date.now() - 60000;

for (let i = 0; i < Number(requests); i++) {
  const at = begin + i * Number(step);
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
console.log(JSON.stringify(results));
