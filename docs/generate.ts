import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { catalogue } from '../domain/catalogue.ts';
import { configurationGuide, exampleEnvironment } from './configuration.ts';
import { readModelGuide } from './read-models.ts';

/** `npm run docs`: writes the documents that are generated from the code. A test fails when they are outdated. */

const typeOf = (schema: unknown): string => {
  const {
    type,
    enum: values,
    items,
    anyOf,
    properties,
  } = z
    .object({
      type: z.union([z.string(), z.array(z.string())]).optional(),
      enum: z.array(z.unknown()).optional(),
      items: z.unknown().optional(),
      anyOf: z.array(z.unknown()).optional(),
      properties: z.record(z.string(), z.unknown()).optional(),
    })
    .parse(schema);
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(' \\| ');
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' \\| ');
  if (items !== undefined) return `array of ${typeOf(items)}`;
  if (properties !== undefined) return `{ ${Object.keys(properties).join(', ')} }`;
  return [type ?? 'any'].flat().join(' \\| ');
};

const fieldsOf = (schema: z.ZodType) =>
  z
    .object({
      properties: z.record(z.string(), z.unknown()).default({}),
      required: z.array(z.string()).default([]),
    })
    .parse(z.toJSONSchema(schema));

export const eventCatalogue = (): string => {
  const lines = [
    '# Events',
    '',
    'Every event type in the log, generated from the schemas (`npm run docs`). Fields marked *sealed* hold personal texts:',
    'see [audit format](audit-format.md).',
    '',
  ];
  for (const definition of catalogue) {
    const { properties, required } = fieldsOf(definition.schema);
    lines.push(
      `## ${definition.type}`,
      '',
      `Version ${definition.version}.`,
      '',
      '| field | type | |',
      '|---|---|---|',
    );
    for (const [field, schema] of Object.entries(properties)) {
      const notes = [
        ...(field in definition.personal ? ['sealed'] : []),
        ...(required.includes(field) ? [] : ['optional']),
      ];
      lines.push(`| \`${field}\` | ${typeOf(schema)} | ${notes.join(', ')} |`);
    }
    lines.push('');
  }
  return lines.join('\n');
};

if (import.meta.main) {
  writeFileSync(new URL('events.md', import.meta.url), eventCatalogue());
  writeFileSync(new URL('read-models.md', import.meta.url), readModelGuide());
  writeFileSync(new URL('configuration.md', import.meta.url), configurationGuide());
  writeFileSync(new URL('../.env.example', import.meta.url), exampleEnvironment());
}
