// The stock: GET /item/N takes some milliseconds.
const http = require('http');

const server = http.createServer((request, answer) => setTimeout(() => answer.end('item\n'), 4 + 8 * Math.random() ** 2));
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 1000));
server.listen(process.argv[2], '127.0.0.1', () => console.log(`ready ${server.address().port}`));
