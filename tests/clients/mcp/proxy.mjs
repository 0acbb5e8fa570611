// Hands every request on to URL with a bearer token: for clients that cannot be told one. Host and Origin stay as they came.
//
// Usage: node proxy.mjs URL TOKEN   prints its own address on one line

import http from "node:http";

const [url, token] = process.argv.slice(2);
const target = new URL(url);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { hostname, port } = target;
  const onward = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
