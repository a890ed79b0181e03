import type { WatchableFamily } from '../../family/contract.ts'
import { documented } from '../../http/request/input.ts'
import { closedObject, createJsonSchema, enumKeyword, type JsonSchema } from '../../http/route/json_schema.ts'
import { OWN_WORDS } from '../../lib/text/text_format.ts'
import { THRESHOLD_WORDS, threshold } from '../trigger.ts'

/*
 * What can be watched, as documents describe it: the fields that name a position, its figures and its events, by family.
 * The route checks a request against the family that it names.
 */

const SUBJECT_WORDS = 'Position to watch, by the fields of its family.'

/** Describes the field `subject`. */
export function describeSubject<Input>(families: readonly WatchableFamily[]) {
  const open = { type: 'object', additionalProperties: {} }
  // A family that is served on no chain has no schema for one, and is refused by its name.
  const kinds = families.map(({ family, subject, chainIds: [chainId] }) =>
    chainId === undefined ? open : nameKind(family, 'Subject', createJsonSchema(subject(chainId))),
  )
  return documented<Input>({
    ...unite(kinds, open),
    description: SUBJECT_WORDS,
  })
}

/** Describes the field `when`. */
export function describeClause<Input>(families: readonly WatchableFamily[], words: string) {
  const text = { type: 'string' }
  const listFigures = (kind: 'number' | 'boolean') =>
    families.flatMap(({ family, figures }) => {
      const names = Object.keys(figures).filter((name) => figures[name] === kind)
      return names.length === 0
        ? []
        : [nameKind(family, kind === 'number' ? 'Figure' : 'State', { ...text, ...enumKeyword(names) })]
    })
  const events = families.flatMap(({ family, events: names }) =>
    names.length === 0 ? [] : [nameKind(family, 'Event', { ...text, ...enumKeyword(names) })],
  )
  const figure = unite(listFigures('number'), text)
  const level = { ...createJsonSchema(threshold), description: THRESHOLD_WORDS }
  return documented<Input>({
    anyOf: [
      closedObject({ figure, below: level }),
      closedObject({ figure, above: level }),
      closedObject({
        figure: unite(listFigures('boolean'), text),
        is: { type: 'boolean', description: 'Fires while it is this' },
      }),
      closedObject({
        event: { type: 'array', items: unite(events, text), minItems: 1, description: 'Fires at each of these events' },
      }),
    ],
    description: words,
  })
}

/** Names the schema of a family: `AaveV3Subject`. */
function nameKind(family: string, kind: string, schema: JsonSchema): JsonSchema {
  const name = family
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
  const words = `${KINDS[kind]} ${family}`
  return { ...schema, title: `${name}${kind}`, description: words, [OWN_WORDS]: words }
}

const KINDS: Readonly<Record<string, string>> = {
  Subject: 'Names a position of',
  Figure: 'A number of a position of',
  State: 'What is true or false of a position of',
  Event: 'What happens to a position of',
}

/** Any of these schemas; `none` if there are none, as by configuration. */
function unite(schemas: readonly JsonSchema[], none: JsonSchema): JsonSchema {
  const [only = none, ...others] = new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()
  return others.length === 0 ? only : { anyOf: [only, ...others] }
}
