import * as v from 'valibot'
import { dataOutput, isoTimestamp } from '../http/request/schema.ts'
import { defineRoute, type FreeRoute } from '../http/route/route.ts'
import { nonNegativeInteger } from '../lib/text/text_format.ts'
import { ADMIN_PREFIX } from './access.ts'

const chainSchema = v.strictObject({
  chain_id: nonNegativeInteger,
  name: v.string(),
  // True if an endpoint answers from a recent block, or did so recently.
  ready: v.boolean(),
  // In the order of the configuration, without addresses, which may hold a secret.
  endpoints: v.array(
    v.strictObject({
      state: v.pipe(
        v.picklist(['ready', 'doubtful', 'open', 'removed']),
        v.description('doubtful failed lately, open failed repeatedly, removed serves another chain'),
      ),
      latency_ms: v.nullable(nonNegativeInteger),
      head_block: v.pipe(
        v.nullable(nonNegativeInteger),
        v.description('Newest block, or slot, that it has shown; null before, or if others contradict it'),
      ),
      head_age_sec: v.nullable(nonNegativeInteger),
      lag_blocks: v.pipe(
        v.nullable(nonNegativeInteger),
        v.description('Behind the newest that any endpoint of the chain has shown'),
      ),
      behind: v.pipe(v.boolean(), v.description('Far behind other endpoints; used last')),
      errors: v.pipe(
        nonNegativeInteger,
        v.description('Requests that failed since the start, refused ones not among them'),
      ),
      state_depth: v.pipe(
        v.nullable(v.union([nonNegativeInteger, v.literal('all')])),
        v.description('State depth in blocks, at least; null if unknown'),
      ),
      busy_ms: v.pipe(nonNegativeInteger, v.description('Until its own rate limit allows the next request')),
    }),
  ),
})

/** A chain and its endpoints, as this process sees them. */
export type ChainReport = v.InferOutput<typeof chainSchema>

const historySchema = v.strictObject({
  chain_id: nonNegativeInteger,
  contract: v.string(),
  // Kind of rows: `aave_v3_lending`.
  stream: v.string(),
  // Number of wallets or positions with a history of their own.
  subjects: nonNegativeInteger,
  // Block ranges stored for all subjects, ascending.
  everybody: v.array(v.strictObject({ from_block: nonNegativeInteger, to_block: nonNegativeInteger })),
  // The last final block on which the chain's history was built; null before the first.
  anchor_block: v.nullable(nonNegativeInteger),
  // True if the chain replaced a final block: no rows are added any more.
  stopped: v.boolean(),
})

/** The stored part of one history: of a contract's logs on one chain. */
export type HistoryReport = v.InferOutput<typeof historySchema>

const triggersSchema = v.strictObject({
  lines: v.array(
    v.strictObject({
      chain_id: nonNegativeInteger,
      finality: v.string(),
      // The process that evaluates the triggers; null if none does.
      holder: v.nullable(v.string()),
      // The last evaluated block, and its age; null before the first.
      block: v.nullable(nonNegativeInteger),
      age_sec: v.nullable(nonNegativeInteger),
      // Since when some triggers are not evaluated, once their owners were notified.
      blind_since: v.nullable(isoTimestamp),
    }),
  ),
  // Number of due messages, counted up to 100,000, and how long the oldest has been due.
  messages_due: nonNegativeInteger,
  oldest_due_sec: nonNegativeInteger,
})

export interface ReportReaders {
  readonly readChains: () => Promise<readonly ChainReport[]>
  readonly readHistories: () => Promise<readonly HistoryReport[]>
  /** Reads triggers of all processes; undefined if triggers are off. */
  readonly readTriggers: (() => Promise<v.InferOutput<typeof triggersSchema>>) | undefined
}

/** Routes that report the state of chains, histories and triggers. */
export function reportRoutes({ readChains, readHistories, readTriggers }: ReportReaders): readonly FreeRoute[] {
  const chains = report('chains', {
    summary: 'Chains and the state of their endpoints, as this process sees them.',
    schema: v.array(chainSchema),
    read: readChains,
  })
  const histories = report('history', {
    summary: 'How far the histories of contracts are stored: for how many wallets or positions, and for global scans.',
    schema: v.array(historySchema),
    read: readHistories,
  })
  if (readTriggers === undefined) return [chains, histories]
  const triggers = report('triggers', {
    summary: 'How far triggers are evaluated on each chain, by any process, and how many messages wait for delivery.',
    schema: triggersSchema,
    read: readTriggers,
  })
  return [chains, histories, triggers]
}

function report(
  name: string,
  { summary, schema, read }: { summary: string; schema: v.GenericSchema; read: () => Promise<unknown> },
): FreeRoute {
  return defineRoute({
    method: 'GET',
    path: `${ADMIN_PREFIX}/${name}`,
    summary,
    input: v.object({}),
    output: dataOutput(schema),
    act: async () => ({ data: await read() }),
  })
}
