// A shop without a line about traces: GET /cart/N asks the stock for an item; the releases from 2.0 on ask for three, one after another.
// shop.cjs PORT STOCK-PORT RELEASE
const http = require('http');

const [port, stock, release] = process.argv.slice(2);
const get = (path) => new Promise((done, failed) => http.get({ port: stock, path, host: '127.0.0.1' }, (r) => r.resume().on('end', done)).on('error', failed));

const server = http.createServer(async (request, answer) => {
  const cart = Number(request.url.split('/')[2]);
  for (let i = 0; i < (release < '2.0' ? 1 : 3); i++) await get(`/item/${cart + i}`);
  answer.end('cart\n');
});
server.listen(port, '127.0.0.1', () => console.log(`ready ${server.address().port}`));
process.on('SIGTERM', () => server.close(() => setTimeout(() => process.exit(0), 3000)).closeAllConnections?.());
