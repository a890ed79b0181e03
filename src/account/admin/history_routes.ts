import * as v from 'valibot'
import { type ActRoute, actRoute } from '../../http/plane/unmetered/route.ts'
import { one } from './input.ts'

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

const block = v.pipe(v.number(), v.integer(), v.minValue(0))

const historySchema = v.strictObject({
  chain_id: block,
  contract: v.string(),
  stream: v.string(),
  subjects: block,
  everybody: v.array(v.strictObject({ from_block: block, to_block: block })),
  anchor_block: v.nullable(block),
  stopped: v.boolean(),
})

/** How far histories are stored. */
export function historyRoutes(
  base: string,
  readHistories: () => Promise<readonly HistoryReport[]>,
): readonly ActRoute[] {
  const list = actRoute({
    method: 'GET',
    path: `${base}/history`,
    summary: 'How far the histories of contracts are stored: for how many wallets or positions, and for everybody.',
    input: v.object({}),
    output: one(v.array(historySchema)),
    async act() {
      return { data: (await readHistories()).map(presentHistory) }
    },
  })
  return [list]
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
