// Answers with everything that an Express application reads from a request, as a JSON array of texts.
const express = require('express');
const cookies = require('cookie-parser');
const multer = require('multer');

function leaves(value, seen) {
  if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value)) {
      seen.push(name);
      leaves(item, seen);
    }
  } else if (value !== undefined) {
    seen.push(String(value));
  }
}

const app = express();
app.set('query parser', 'extended');
app.use(cookies());
app.use(express.urlencoded({ extended: true, limit: '4mb', parameterLimit: 100000 }));
app.use(express.json({ strict: false, limit: '4mb' }));
app.use(multer().any());
app.use((request, response) => {
  const seen = [request.path];
  try {
    seen.push(decodeURIComponent(request.path));
  } catch { /* the path as sent is all there is */ }
  leaves([request.query, request.body, request.cookies, { ...request.headers, cookie: undefined }], seen);
  for (const file of request.files ?? []) {
    seen.push(file.fieldname, file.originalname, file.buffer.toString());
  }
  response.json(seen);
});
app.use((error, request, response, _next) => response.status(400).json([]));
app.listen(Number(process.argv[2]), '127.0.0.1');
