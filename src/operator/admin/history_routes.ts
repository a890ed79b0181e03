import * as v from 'valibot'
import { one } from '../../http/request/schema.ts'
import { type FreeRoute, route } from '../../http/route/route.ts'
import { whole } from '../../lib/text/schema.ts'
import { ADMIN_PREFIX } from '../access.ts'

const historySchema = v.strictObject({
  chain_id: whole,
  contract: v.string(),
  // Kind of rows: `aave_v3_lending`.
  stream: v.string(),
  // Wallets or positions that have a history of their own.
  subjects: whole,
  // Blocks that are stored of everybody, ascending.
  everybody: v.array(v.strictObject({ from_block: whole, to_block: whole })),
  // The final block on which the chain's history was built last; null before the first.
  anchor_block: v.nullable(whole),
  // True if the chain changed a final block: nothing is added any more.
  stopped: v.boolean(),
})

/** What is stored of one history: of a contract's logs on one chain. */
export type HistoryReport = v.InferOutput<typeof historySchema>

/** How far histories are stored. */
export function historyRoute(readHistories: () => Promise<readonly HistoryReport[]>): FreeRoute {
  return route({
    method: 'GET',
    path: `${ADMIN_PREFIX}/history`,
    summary: 'How far the histories of contracts are stored: for how many wallets or positions, and for everybody.',
    input: v.object({}),
    output: one(v.array(historySchema)),
    async act() {
      return { data: await readHistories() }
    },
  })
}
