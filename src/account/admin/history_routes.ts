import * as v from 'valibot'
import { type ActRoute, actRoute } from '../../http/plane/unmetered/route.ts'
import { ADMIN_PREFIX } from './access.ts'
import { one, whole } from './input.ts'

/** What is stored of one history: of a contract's logs on one chain. */
export interface HistoryReport {
  readonly chainId: number
  readonly contract: string
  /** Kind of rows: `aave_v3_lending`. */
  readonly stream: string
  /** Wallets or positions that have a history of their own. */
  readonly subjects: number
  /** Blocks that are stored of everybody, ascending. */
  readonly everybody: readonly { readonly fromBlock: number; readonly toBlock: number }[]
  /** The final block on which the chain's history was built last; undefined before the first. */
  readonly anchorBlock: number | undefined
  /** True if the chain changed a final block: nothing is added any more. */
  readonly isStopped: boolean
}

const historySchema = v.strictObject({
  chain_id: whole,
  contract: v.string(),
  stream: v.string(),
  subjects: whole,
  everybody: v.array(v.strictObject({ from_block: whole, to_block: whole })),
  anchor_block: v.nullable(whole),
  stopped: v.boolean(),
})

/** How far histories are stored. */
export function historyRoute(readHistories: () => Promise<readonly HistoryReport[]>): ActRoute {
  return actRoute({
    method: 'GET',
    path: `${ADMIN_PREFIX}/history`,
    summary: 'How far the histories of contracts are stored: for how many wallets or positions, and for everybody.',
    input: v.object({}),
    output: one(v.array(historySchema)),
    async act() {
      return { data: (await readHistories()).map(presentHistory) }
    },
  })
}

function presentHistory(report: HistoryReport): v.InferOutput<typeof historySchema> {
  const { chainId, contract, stream, subjects, everybody, anchorBlock, isStopped } = report
  return {
    ...{ chain_id: chainId, contract, stream, subjects },
    everybody: everybody.map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
    anchor_block: anchorBlock ?? null,
    stopped: isStopped,
  }
}
