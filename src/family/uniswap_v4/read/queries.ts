import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { readPages } from '../../../chain/call/pages.ts'
import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { getPriceSources } from '../../../finance/price/price_sources.ts'
import type { SpamFilter } from '../../../finance/token/spam.ts'
import { runCooperatively } from '../../../lib/async/cooperative.ts'
import { joinPages } from '../../liquidity/list/records.ts'
import type { FamilyTarget } from '../../moment.ts'
import type { UniswapV4Deployment } from '../table.ts'
import { decodeLens, decodeList, encodeList, encodeNamed, type RawRead, type RawV4Listed } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret, interpretList, type ListedPosition } from './position.ts'

/**
 * Ids in one call: 500 positions take about 12 million gas, and nodes allow 50 million. A deployless call shares its
 * gas with the deployment, and the nodes that need it allow the least. The lens itself reads at most 512.
 */
const PAGE_SIZES = { override: 500, deployless: 40 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000

/** A chain with one deployment whose positions are read. */
export type UniswapV4Target = FamilyTarget<UniswapV4Deployment>

/** Returns the one deployment of a target. Throws `Error` if it has none. */
export function getDeployment({ client, deployments: [deployment] }: UniswapV4Target): UniswapV4Deployment {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Uniswap V4`)
  return deployment
}

/** The lens that reads positions. */
export const LENS = { topic: 'uniswap_v4', runtime: LENS_RUNTIME } as const

/** The chain and deployment of a lens query, and the filter of its tokens. */
export interface V4LensQueryContext {
  readonly chain: FinanceChain
  readonly deployment: UniswapV4Deployment
  readonly classifyToken: SpamFilter['classify']
  /** `included` lists positions even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
}

/** Positions that were asked for by their ids are told apart from no spam. */
interface NamedQueryContext extends Omit<V4LensQueryContext, 'spam'> {
  /** @default {false} */
  readonly mustAnswer?: boolean
}

/** A wallet, and ids that may be its positions. */
interface WalletIds {
  readonly wallet: Address
  /** Distinct ids. */
  readonly ids: readonly bigint[]
  /** If the wallet owns more, only some of them are read. */
  readonly positionsMax: number
}

/** The ids that a wallet owns of those requested, and its balance, at one block. */
export interface OwnedRead {
  readonly block: Block
  /** Number of positions that the wallet owns by the manager's `balanceOf`. */
  readonly balance: bigint
  /** Requested ids that the wallet owns, including unreadable ones. */
  readonly owned: readonly bigint[]
  readonly read: ChainRead<ListedPosition>
}

/**
 * Reads those of some ids that a wallet owns: one call at the newest block, or all pages at one pinned block. The list
 * is complete if `owned` has `balance` ids. Throws `ContractUnresponsiveError` if the manager does not answer, else as
 * `readPages`.
 */
export async function readOwned(
  { mode, call, ...paging }: LensAccess,
  { wallet, ids, positionsMax }: WalletIds,
  { chain, deployment, classifyToken, spam }: V4LensQueryContext,
): Promise<OwnedRead> {
  const subject = { deployment, prices: getPriceSources(chain) }
  const pages = await readPages<RawRead<RawV4Listed>>({
    ...paging,
    pageSize: PAGE_SIZES[mode],
    countMin: Math.min(ids.length, positionsMax),
    async read({ start, end, block }) {
      const pageIds = ids.slice(start, end)
      const data = encodeList(subject, { wallet, ids: pageIds, bytesMax: PAGE_BYTES_MAX })
      return await runCooperatively(decodeList(await call({ data, block, isLight: start === 0 }), pageIds))
    },
    count: ({ taken, balance }) => (balance > BigInt(positionsMax) ? taken : ids.length),
  })
  const read = joinPages(pages)
  const isPast = paging.at !== undefined
  if (wallet !== zeroAddress) checkManager(read, { deployment, isPast })
  const owned = [...read.positions, ...read.broken].map(({ tokenId }) => tokenId)
  return {
    block: read.block,
    balance: read.balance,
    owned,
    read: await runCooperatively(interpretList(read, { chain, deployment, classifyToken, spam, owner: wallet })),
  }
}

/**
 * Reads the positions of ids, of any owner, spam included: one call at the newest block, or all pages at one pinned block.
 * Throws `ContractUnresponsiveError` as `readOwned`; with `mustAnswer` also if the manager is not deployed at a past block.
 */
export async function readNamed(
  { mode, call, ...paging }: LensAccess,
  ids: readonly bigint[],
  { chain, deployment, classifyToken, mustAnswer = false }: NamedQueryContext,
): Promise<ChainRead> {
  const subject = { deployment, prices: getPriceSources(chain) }
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize: PAGE_SIZES[mode],
    countMin: ids.length,
    async read({ start, end, block }) {
      const pageIds = ids.slice(start, end)
      const data = encodeNamed(subject, { ids: pageIds, bytesMax: PAGE_BYTES_MAX })
      return await runCooperatively(decodeLens(await call({ data, block, isLight: start === 0 }), pageIds))
    },
    count: () => ids.length,
  })
  const read = joinPages(pages)
  checkManager(read, { deployment, isPast: paging.at !== undefined && !mustAnswer })
  return await runCooperatively(
    interpret(read, { chain, deployment, classifyToken, spam: 'included', owner: zeroAddress }),
  )
}

/** Throws `ContractUnresponsiveError` if the manager does not answer; at a past block it may not be deployed yet. */
function checkManager(
  { manager }: Pick<RawRead, 'manager'>,
  { deployment, isPast }: { readonly deployment: UniswapV4Deployment; readonly isPast: boolean },
): void {
  if (manager === 'answers' || (isPast && manager === 'absent')) return
  throw new ContractUnresponsiveError(`position manager ${deployment.positionManager} does not answer`, undefined)
}
