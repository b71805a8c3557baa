import { type Case, describeCases } from './cases.ts';

const thing = { title: 'A thing' };

/** Paths, parameters, bodies and failures. */
const cases: readonly Case[] = [
  { name: 'an unknown path', send: ['GET', '/nowhere'], status: 404, error: 'not_found' },
  {
    name: 'a slash too many',
    send: ['GET', '/api/v1/things/', { as: 'admin' }],
    status: 404,
    error: 'not_found',
  },
  {
    name: 'a percent that is none',
    send: ['GET', '/api/v1/things/%E0%A4%A', { as: 'admin' }],
    status: 404,
    error: 'not_found',
  },
  { name: 'a percent that is none, anywhere', send: ['GET', '/%', {}], status: 404, error: 'not_found' },
  { name: 'another method', send: ['PATCH', '/api/v1/things'], status: 405, error: 'method_not_allowed' },
  { name: 'an alias', send: ['POST', '/things', { as: 'admin', body: thing }], status: 201 },
  {
    name: 'a fixed path beside a variable',
    send: ['GET', '/api/v1/things/special', { as: 'admin' }],
    status: 200,
  },
  {
    name: 'a parameter given twice',
    send: ['GET', '/api/v1/things?limit=1&limit=2', { as: 'admin' }],
    status: 400,
    error: 'validation_failed',
    field: 'limit',
  },
  {
    name: 'a limit that is no number',
    send: ['GET', '/api/v1/things?limit=ten', { as: 'admin' }],
    status: 400,
    error: 'validation_failed',
    field: 'limit',
  },
  {
    name: 'a limit that is no whole number',
    send: ['GET', '/api/v1/things?limit=1.5', { as: 'admin' }],
    status: 400,
    error: 'validation_failed',
    field: 'limit',
  },
  {
    name: 'a missing field',
    send: ['POST', '/api/v1/things', { as: 'admin', body: {} }],
    status: 400,
    error: 'validation_failed',
    field: 'title',
  },
  {
    name: 'no body at all',
    send: ['POST', '/api/v1/things', { as: 'admin' }],
    status: 400,
    error: 'validation_failed',
    field: 'title',
  },
  {
    name: 'a field deep inside',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { ...thing, lines: [{ debit: 'x' }] } }],
    status: 400,
    error: 'validation_failed',
    field: 'lines.0.debit',
  },
  {
    name: 'a long text',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { title: '👍'.repeat(11) } }],
    status: 400,
    error: 'validation_failed',
    field: 'title',
  },
  {
    name: 'a text of ten code points',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { title: '👍'.repeat(10) } }],
    status: 201,
  },
  {
    name: 'NUL in a text',
    send: ['POST', '/api/v1/things', { as: 'admin', body: '{"title":"a\\u0000"}' }],
    status: 400,
    error: 'validation_failed',
    field: 'title',
  },
  {
    name: 'half a surrogate pair',
    send: ['POST', '/api/v1/things', { as: 'admin', body: '{"title":"\\ud83d"}' }],
    status: 400,
    error: 'validation_failed',
    field: 'title',
  },
  {
    name: 'a store that is away',
    send: ['POST', '/api/v1/boom/unavailable', { as: 'admin' }],
    status: 503,
    error: 'unavailable',
  },
  {
    name: 'a failure',
    send: ['POST', '/api/v1/boom/unknown', { as: 'admin' }],
    status: 500,
    error: 'internal_error',
  },
  {
    name: 'a malformed position',
    send: ['GET', '/api/v1/things', { as: 'admin', headers: { 'X-Min-Position': '!' } }],
    status: 400,
    error: 'validation_failed',
    field: 'X-Min-Position',
  },
];

describeCases('requests', cases);
