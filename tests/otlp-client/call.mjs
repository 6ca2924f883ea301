// Calls of gRPC as they are: call.mjs ADDRESS TOKEN [CA-FILE], then lines "NAME METHOD HEX [COUNT]" on standard input: COUNT calls at a time with
// these bytes as message; prints "NAME CODE MESSAGE HEX" of the last one. METHOD may be without a service: trace, metrics, logs.
import { readFileSync } from 'node:fs';
import grpc from '@grpc/grpc-js';

const [address, token, authority] = process.argv.slice(2);
const credentials = authority ? grpc.credentials.createSsl(readFileSync(authority)) : grpc.credentials.createInsecure();
const client = new grpc.Client(address, credentials, { 'grpc.enable_retries': 0, 'grpc.max_send_message_length': -1 });
const services = { trace: 'trace.v1.TraceService', metrics: 'metrics.v1.MetricsService', logs: 'logs.v1.LogsService', profiles: 'profiles.v1development.ProfilesService' };
const same = (bytes) => bytes;

function call(method, bytes) {
  const metadata = new grpc.Metadata();
  if (token !== '-') metadata.set('authorization', `Bearer ${token}`);
  const path = services[method] ? `/opentelemetry.proto.collector.${services[method]}/Export` : method;
  return new Promise((resolve) => client.makeUnaryRequest(path, same, same, bytes, metadata, { deadline: Date.now() + 120000 },
    (error, reply) => resolve(error ? `${error.code} ${error.details}` : `0 OK ${reply.toString('hex')}`)));
}

for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  const [name, method, hex, count] = line.split(' ');
  const bytes = /^\d+x$/.test(hex) ? Buffer.alloc(Number(hex.slice(0, -1))) : Buffer.from(hex === '-' ? '' : hex, 'hex');
  const answers = await Promise.all(Array.from({ length: Number(count ?? 1) }, () => call(method, bytes)));
  console.log(name, answers.at(-1));
}
client.close();
