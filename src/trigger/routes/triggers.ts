import * as v from 'valibot'
import type { WatchableFamily } from '../../family/contract.ts'
import type { Watchable, WatchSubject } from '../../family/watch.ts'
import {
  choice,
  documented,
  evmAddress,
  instantTo,
  limit,
  page,
  solanaAddress,
  tokenId,
  wholeNumber,
} from '../../http/request/input.ts'
import { toParameters, validateInput } from '../../http/request/parameters.ts'
import { idParameter, integerBetween, label } from '../../http/request/schema.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { compareRational } from '../../lib/number/rational.ts'
import { isJsonObject } from '../../lib/text/json.ts'
import { withWords } from '../../lib/text/text_format.ts'
import {
  findTrigger,
  listDeliveries,
  listTriggers,
  parseTrigger,
  prepareTrigger,
  prepareTriggerDeletion,
  prepareTriggerUpdate,
  TRIGGER_STATES,
  type TriggerRow,
} from '../stored.ts'
import {
  type Clause,
  clauseSchema,
  defaultClear,
  FINALITY_LEVELS,
  type FinalityLevel,
  PACES,
  type Pace,
  parseExact,
  SAMPLE_BLOCKS,
  threshold,
} from '../trigger.ts'
import { FEATURE, LIST_READ, MUTATION, SINGLE_READ, type TriggerServices } from './route_parts.ts'
import { deliveriesOutput, idOutput, presentDelivery, presentTrigger, triggerOutput, triggersOutput } from './schema.ts'
import { prepareTriggerTest } from './test_message.ts'
import { describeClause, describeSubject } from './vocabulary.ts'

const NAME_LENGTH_MAX = 100
const FOR_BLOCKS_MAX = 100

const triggerId = v.pipe(idParameter, v.description('Id of the trigger.'))
const oneInput = v.object({ id: triggerId })
const settings = {
  when: clauseSchema,
  clear: v.pipe(
    threshold,
    v.description('Level of the figure at which it arms again; 2 % beyond if it is made without.'),
  ),
  for_blocks: v.pipe(
    integerBetween(1, FOR_BLOCKS_MAX),
    v.description('Blocks in a row for which the condition must hold.'),
  ),
  finality: v.pipe(choice(FINALITY_LEVELS), v.description('Which blocks count.')),
  webhook_id: v.pipe(
    v.nullable(idParameter),
    v.description('Webhook that gets the messages; they are in the feed anyway.'),
  ),
  name: v.pipe(v.nullable(label(NAME_LENGTH_MAX)), v.description('Label of the trigger, which its messages repeat.')),
  expires_at: v.nullable(instantTo),
}
/** The family checks the members. A record would drop names such as `__proto__`, which must be refused. */
const subject = v.pipe(v.unknown(), v.guard(isJsonObject, 'expected an object'))
const EXPECTED_CHANGE =
  'Cannot change the trigger: expected when, clear, for_blocks, finality, webhook_id, name, paused or expires_at'
const listInput = v.object({
  chain_id: v.optional(
    v.pipe(
      wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      documented({ type: 'integer', minimum: 1, examples: [1], description: 'Only triggers on this chain.' }),
    ),
  ),
  family: v.optional(
    v.pipe(
      idParameter,
      documented({ type: 'string', examples: ['aave-v3'], description: 'Only triggers of this family.' }),
    ),
  ),
  wallet: v.optional(
    v.pipe(
      v.union([evmAddress, solanaAddress], 'expected an address'),
      documented({
        type: 'string',
        examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
        description: 'Only triggers about this wallet.',
      }),
    ),
  ),
  token_id: v.optional(
    v.pipe(
      tokenId,
      documented({ type: 'string', examples: ['1'], description: 'Only triggers about positions with this token id.' }),
    ),
  ),
  obligation_address: v.optional(
    v.pipe(
      solanaAddress,
      v.description('Only triggers about this obligation of Kamino.'),
      v.examples(['G3rG1zM9fsSnBDWUC76ayn55CBHVciLmKYmLWWe51mKK']),
    ),
  ),
  state: v.optional(v.pipe(choice(TRIGGER_STATES), v.description('Only triggers in this state.'))),
  page,
  limit,
})

/** The routes of triggers. `families`: what can be watched; `solanaChainId` is evaluated by slots. */
export function triggerRoutes(
  services: () => TriggerServices,
  { families, solanaChainId }: { readonly families: readonly WatchableFamily[]; readonly solanaChainId: number },
): readonly Route[] {
  /** Presents a trigger as its change has left it. */
  const presenter = async () => (row: unknown) => ({ data: presentTrigger(parseTrigger(row as TriggerRow)) })
  const parts = { ...FEATURE, input: oneInput, errors: [404] } as const
  const base = '/v1/triggers'
  const names = families.map(({ family }) => family)
  const when = v.pipe(clauseSchema, describeClause(families, 'Threshold of a figure, or events, that fire it.'))
  const changeBody = v.pipe(
    v.strictObject({
      ...v.partial(v.strictObject({ ...settings, when })).entries,
      paused: v.optional(withWords('True pauses it, false starts it again', v.boolean('expected true or false'))),
    }),
    v.check((body) => Object.keys(body).length > 0, EXPECTED_CHANGE),
  )
  const sampled = families.flatMap((family) => family.sampled ?? [])
  const createBody = v.strictObject({
    chain_id: v.pipe(integerBetween(1, Number.MAX_SAFE_INTEGER), v.description('Id of the chain of the position.')),
    family: v.pipe(
      v.picklist(names, `expected one of ${names.join(', ')}`),
      v.description('Protocol of the position.'),
    ),
    subject: v.pipe(subject, describeSubject(families)),
    ...settings,
    when,
    clear: v.optional(settings.clear),
    for_blocks: v.optional(settings.for_blocks, 1),
    finality: v.optional(settings.finality, 'latest'),
    webhook_id: v.optional(settings.webhook_id, null),
    name: v.optional(settings.name, null),
    expires_at: v.optional(settings.expires_at, null),
  })

  return [
    defineRoute({
      ...FEATURE,
      ...MUTATION,
      presenter,
      method: 'POST',
      path: base,
      operation: 'trigger_create',
      tool: { name: 'create_trigger', title: 'Make a trigger' },
      summary: 'Makes a trigger: a message at the block where a figure of a position crosses a threshold.',
      description: `A trigger that holds when it is made fires at once. Further hours cost as much each, fired and cleared messages 2 each. Looked at every ${SAMPLE_BLOCKS} blocks, others at each block: ${sampled.join(', ')}.`,
      input: v.object({}),
      body: createBody,
      output: triggerOutput,
      errors: ['API_ENDPOINT_NOT_CONFIGURED'],
      charge: {
        credits: PACES.exact.hourCredits,
        per: 'trigger and hour',
        instead: sampled.map((value) => ({ credits: PACES.sampled.hourCredits, parameter: 'when.figure', value })),
      },
      async prepare(request, { apiKeyId, requestedAtMs }) {
        const { chain_id: chainId, family, finality, name } = request
        const watchable = findFamily(families, family, chainId)
        const subject = toSubject(watchable, chainId, request.subject)
        const selection = toTriggerSelection(watchable, request)
        checkForBlocks(selection.clause, request.for_blocks)
        checkFinality(finality, chainId === solanaChainId)
        checkExpiry(request.expires_at, requestedAtMs)
        const pace = getClausePace(watchable, selection.clause)
        const options = {
          pace,
          forBlocks: request.for_blocks,
          webhookId: request.webhook_id,
          expiresAt: request.expires_at,
        }
        return prepareTrigger({ apiKeyId, chainId, family, subject, finality, name, ...selection, ...options })
      },
    }),
    defineRoute({
      ...FEATURE,
      ...LIST_READ,
      method: 'GET',
      path: base,
      operation: 'triggers',
      tool: { name: 'list_triggers', title: 'Triggers and their states' },
      summary: 'Lists the triggers with their states, newest first.',
      input: listInput,
      output: triggersOutput,
      read: ({ chain_id: chainId, wallet, token_id, obligation_address, ...filter }, { organizationId }) => {
        const subject = toSubjectFilter({ wallet, token_id: token_id?.toString(), obligation_address })
        return listTriggers(services().db, organizationId, { chainId, subject, ...filter })
      },
      count: ({ triggers }) => (triggers.length === 0 ? 0 : 1),
      present: ({ triggers, total }, request, { url }) => ({
        data: triggers.map(presentTrigger),
        pagination: createPagination({ page: request.page, limit: request.limit, total, url }),
      }),
    }),
    defineRoute({
      ...parts,
      ...SINGLE_READ,
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One trigger with its state.',
      output: triggerOutput,
      read: async (request, { organizationId }) => ({
        data: presentTrigger(await findTrigger(services().db, { organizationId, id: request.id })),
      }),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      presenter,
      method: 'PATCH',
      path: `${base}/:id`,
      summary: 'Updates, pauses or resumes a trigger. Changing a firing condition re-arms it.',
      body: changeBody,
      output: triggerOutput,
      async prepare(request, { organizationId, requestedAtMs }) {
        const stored = await findTrigger(services().db, { organizationId, id: request.id })
        const selection = toChangedSelection(stored, request, families)
        checkForBlocks(selection?.clause ?? stored.clause, request.for_blocks ?? stored.for_blocks)
        checkFinality(request.finality, stored.chain_id === solanaChainId)
        checkExpiry(request.expires_at, requestedAtMs)
        return prepareTriggerUpdate(request.id, {
          ...selection,
          forBlocks: request.for_blocks,
          finality: request.finality,
          webhookId: request.webhook_id,
          name: request.name,
          expiresAt: request.expires_at,
          pauses: request.paused,
        })
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'DELETE',
      path: `${base}/:id`,
      operation: 'trigger_delete',
      tool: { name: 'delete_trigger', title: 'Delete a trigger' },
      summary: 'Deletes a trigger. Past messages stay in the feed.',
      output: idOutput,
      prepare: async (request) => prepareTriggerDeletion(request.id),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/test`,
      summary: 'Sends a test message about a trigger to its webhook and the feed, ten an hour at most.',
      output: idOutput,
      prepare: (request, { organizationId }) => prepareTriggerTest(services().db, { organizationId, id: request.id }),
    }),
    defineRoute({
      ...FEATURE,
      ...LIST_READ,
      method: 'GET',
      path: `${base}/:id/deliveries`,
      summary: 'Messages about a trigger, newest first, with each try to post them.',
      description: "Only the status of the receiver's response is stored.",
      input: v.object({ id: triggerId, page, limit }),
      output: deliveriesOutput,
      errors: [404],
      async read(request, { organizationId }) {
        const { db } = services()
        await findTrigger(db, { organizationId, id: request.id })
        return await listDeliveries(db, {
          organizationId,
          triggerId: request.id,
          page: request.page,
          limit: request.limit,
        })
      },
      count: ({ rows }) => (rows.length === 0 ? 0 : 1),
      present: ({ rows, total }, request, { url }) => ({
        data: rows.map(presentDelivery),
        pagination: createPagination({ page: request.page, limit: request.limit, total, url }),
      }),
    }),
  ]
}

/** The requested fields of a subject, without undefined ones. */
function toSubjectFilter(fields: Readonly<Record<string, string | undefined>>): WatchSubject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/* Checks a trigger's selection against what families can watch. All functions throw `CodedError`. */

/** The stored selection of a trigger. */
interface TriggerSelection {
  readonly clause: Clause
  /** Decimal; null if the clause needs no level. */
  readonly clear: string | null
}

/** Finds a family that is served on a chain. */
function findFamily(families: readonly WatchableFamily[], name: string, chainId: number): WatchableFamily {
  const watchable = families.find(({ family }) => family === name)
  if (watchable === undefined || watchable.chainIds.length === 0) {
    throw notConfiguredError(name)
  }
  if (!watchable.chainIds.includes(chainId)) {
    const ids = [...watchable.chainIds].sort((a, b) => a - b).join(', ')
    throw invalidParameterError('chain_id', `expected the id of a chain with ${name} (${ids}), got "${chainId}"`)
  }
  return watchable
}

/** Converts the subject of a request to the family's form. */
function toSubject({ subject }: Watchable, chainId: number, fields: Readonly<Record<string, unknown>>): WatchSubject {
  const schema = subject(chainId)
  return validateInput(schema, toParameters(schema, fields))
}

/** Checks a clause and its clear level. `clear`: undefined for the default level. */
function toTriggerSelection(
  watchable: Watchable & { readonly family: string },
  { when, clear }: { readonly when: Clause; readonly clear?: string | undefined },
): TriggerSelection {
  const { figures, events, family } = watchable
  if ('event' in when) {
    const unknownTypes = when.event.filter((type) => !events.includes(type))
    if (events.length === 0) throw invalidParameterError('when', `expected a figure, ${family} has no events`)
    if (unknownTypes.length > 0)
      throw invalidParameterError('when', `expected events of ${family}: ${events.join(', ')}`)
    if (clear !== undefined) throw invalidParameterError('clear', 'expected it with a threshold alone')
    return { clause: { event: [...new Set(when.event)] }, clear: null }
  }
  const kind = Object.hasOwn(figures, when.figure) ? figures[when.figure] : undefined
  if (kind === undefined)
    throw invalidParameterError('when', `expected a figure of ${family}: ${Object.keys(figures).join(', ')}`)
  if ('is' in when) {
    if (kind !== 'boolean') throw invalidParameterError('when', `expected below or above, ${when.figure} is a number`)
    if (clear !== undefined) throw invalidParameterError('clear', 'expected it with a threshold alone')
    return { clause: when, clear: null }
  }
  if (kind !== 'number') throw invalidParameterError('when', `expected is, ${when.figure} is true or false`)
  if (clear === undefined) return { clause: when, clear: defaultClear(when) }
  const isBelow = 'below' in when
  const comparison = compareRational(parseExact(clear), parseExact(isBelow ? when.below : when.above))
  if (isBelow ? comparison < 0 : comparison > 0) {
    throw invalidParameterError(
      'clear',
      `expected a level ${isBelow ? 'not below' : 'not above'} the threshold, got "${clear}"`,
    )
  }
  return { clause: when, clear }
}

/** Checks the changed selection of a trigger; undefined if neither `when` nor `clear` changes. */
function toChangedSelection(
  { family, clause }: { readonly family: string; readonly clause: Clause },
  { when, clear }: { readonly when?: Clause | undefined; readonly clear?: string | undefined },
  families: readonly WatchableFamily[],
): TriggerSelection | undefined {
  if (when === undefined && clear === undefined) return undefined
  const watchable = families.find((each) => each.family === family)
  if (watchable === undefined) throw notConfiguredError(family)
  const selection = toTriggerSelection(watchable, { when: when ?? clause, clear })
  if (getClausePace(watchable, selection.clause) !== getClausePace(watchable, clause))
    throw invalidParameterError('when', 'expected a figure that is looked at as often, or another trigger')
  return selection
}

function getClausePace({ sampled = [] }: Watchable, clause: Clause): Pace {
  return 'figure' in clause && sampled.includes(clause.figure) ? 'sampled' : 'exact'
}

/** Throws if a trigger on events asks for several blocks in a row: an event happens in one block. */
function checkForBlocks(clause: Clause, forBlocks: number): void {
  if ('event' in clause && forBlocks > 1) {
    throw invalidParameterError('for_blocks', 'expected 1, an event happens in one block')
  }
}

/** Throws unless the finality is `latest` on Solana, whose slots are only read once confirmed. */
function checkFinality(finality: FinalityLevel | undefined, isSolana: boolean): void {
  if (isSolana && finality !== undefined && finality !== 'latest') {
    throw invalidParameterError('finality', 'expected "latest" on Solana, whose slots are confirmed when they are read')
  }
}

/** Throws unless the expiry lies in the future. */
function checkExpiry(expiresAt: Date | null | undefined, nowMs: number): void {
  if (expiresAt instanceof Date && expiresAt.getTime() <= nowMs)
    throw invalidParameterError('expires_at', 'expected a time to come')
}

function notConfiguredError(name: string): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', `Cannot watch "${name}": no chain is configured with it`)
}

function invalidParameterError(name: string, expected: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${name}": ${expected}`)
}
