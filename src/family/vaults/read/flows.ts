import type { Hex } from 'viem'
import { vaultFlowList } from '../../../../sql/queries.ts'
import type { Database } from '../../../db/database.ts'
import {
  createRowTable,
  type HistoryName,
  hexFromBytes,
  toHexDigits,
  toNameParams,
} from '../../../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../../../history/stream.ts'
import type { FlowKind, VaultFlow } from '../event/flow.ts'

/** Flows of one statement: more would block the event loop for long. */
const PAGE_MAX = 2_000

/** Flows as their stream stores them. */
export const VAULT_FLOWS: StreamTable<VaultFlow> = createRowTable({
  name: 'vault_flow',
  toSubject: ({ wallet }) => wallet,
  subjectColumn: 'wallet',
  columns: {
    wallet: ({ wallet }) => toHexDigits(wallet),
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    kind: ({ kind }) => kind,
    shares: ({ shares }) => shares,
    assets: ({ assets }) => assets ?? null,
    counterparty: ({ counterparty }) => toHexDigits(counterparty),
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    time: ({ timestampSec }) => timestampSec,
  },
})

/** Stored flows of a wallet up to a block. */
interface FlowsQuery extends HistoryName {
  readonly target: StreamTarget
  readonly wallet: Hex
  readonly toBlock: number
}

/** One page of flows, newest first, and the number of all. */
interface FlowsPage {
  readonly total: number
  readonly flows: readonly VaultFlow[]
}

/** Reads a page; undefined if some since the target's start block are not stored. Throws as `Database.run`. */
export async function readFlowsPage(
  db: Database,
  { target, stream, wallet, toBlock, skip, max }: FlowsQuery & { readonly skip: number; readonly max: number },
): Promise<FlowsPage | undefined> {
  const rows = await vaultFlowList(db, {
    ...toNameParams({ target, stream }),
    wallet: toHexDigits(wallet),
    fromBlock: target.startBlock,
    toBlock: Math.max(target.startBlock, toBlock),
    max,
    skip,
  })
  const [first] = rows
  if (first?.covered !== true) return undefined
  const flows = rows.flatMap(({ block, log_index, kind, shares, assets, counterparty, tx_hash, time }) =>
    block === null || log_index === null || shares === null || counterparty === null || tx_hash === null
      ? []
      : {
          wallet,
          block: Number(block),
          logIndex: log_index,
          kind: kind as FlowKind,
          shares: BigInt(shares),
          assets: assets === null ? undefined : BigInt(assets),
          counterparty: hexFromBytes(counterparty),
          transactionHash: hexFromBytes(tx_hash),
          timestampSec: time === null ? null : Number(time),
        },
  )
  return { total: Number(first.total), flows }
}

/** Reads up to `max` of the newest flows, and the number of all, as `readFlowsPage`. */
export async function readFlows(
  db: Database,
  { max, ...query }: FlowsQuery & { readonly max: number },
): Promise<FlowsPage | undefined> {
  const flows: VaultFlow[] = []
  for (;;) {
    const page = await readFlowsPage(db, { ...query, skip: flows.length, max: Math.min(PAGE_MAX, max - flows.length) })
    if (page === undefined) return undefined
    flows.push(...page.flows)
    if (page.flows.length < PAGE_MAX || flows.length >= max) return { total: page.total, flows }
  }
}
