import express from 'express';

/** The yardstick of figures over HTTP: Express parses a JSON body and returns it. */
const app = express();
app.use(express.json());
app.get('/', (_request, response) => {
  response.json({});
});
app.post('/echo', (request, response) => {
  response.json(request.body);
});
app.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
