import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { readPages } from '../../../chain/call/pages.ts'
import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { joinPages } from '../../../finance/liquidity/list/pages.ts'
import { getPriceSources } from '../../../finance/price/price_sources.ts'
import type { SpamFilter } from '../../../finance/token/spam_filter.ts'
import { runCooperatively } from '../../../lib/async/cooperative.ts'
import type { FamilyTarget } from '../../target.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { decodeLens, decodeList, encodeList, encodeOne, type RawRead, type RawV4Listed } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret, interpretList, type ListedPosition } from './position.ts'

/**
 * Ids in one call: 500 positions take about 12 million gas, and nodes allow 50 million. A deployless call shares its gas
 * with the deployment, and the nodes that need one allow the least. The lens itself reads no more than 512.
 */
const PAGE_SIZES = { override: 500, deployless: 40 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** Where a chain's positions are read. It has one deployment. */
export type UniswapV4Target = FamilyTarget<UniswapV4Deployment>

/** The one deployment of a place. */
export function getDeployment({ client, deployments: [deployment] }: UniswapV4Target): UniswapV4Deployment {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Uniswap V4`)
  return deployment
}

/** The lens that answers. */
export const LENS = { topic: 'uniswap_v4', runtime: LENS_RUNTIME } as const

/** Where a question is asked, and what judges the tokens of its answer. */
export interface V4LensQueryContext {
  readonly chain: FinanceChain
  readonly deployment: UniswapV4Deployment
  readonly judge: SpamFilter['judge']
  /** `included` if positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
}

/** Whose positions, by the ids that may be theirs. */
interface WalletIds {
  readonly wallet: Address
  /** Each once. */
  readonly ids: readonly bigint[]
  /** If the wallet owns more, only some of them are read. */
  readonly positionsMax: number
}

/** Which of some ids a wallet owns, and how many positions it owns in all, at one block. */
export interface OwnedRead {
  readonly block: Block
  /** How many the manager says that it owns. */
  readonly balance: bigint
  /** Those of the ids that it owns, unreadable ones included. */
  readonly owned: readonly bigint[]
  readonly read: ChainRead<ListedPosition>
}

/**
 * Those of some ids that a wallet owns: one call at the newest block, or all pages at one pinned block. The wallet owns
 * no others if `owned` are as many as `balance`. Throws `ContractUnresponsiveError` if the manager does not answer, else as `readPages`.
 */
export async function readOwned(
  { way, call, ...paging }: LensAccess,
  { wallet, ids, positionsMax }: WalletIds,
  { chain, deployment, judge, spam }: V4LensQueryContext,
): Promise<OwnedRead> {
  const subject = { deployment, prices: getPriceSources(chain) }
  const pages = await readPages<RawRead<RawV4Listed>>({
    ...paging,
    pageSize: PAGE_SIZES[way],
    countMin: Math.min(ids.length, positionsMax),
    async read({ start, end, block }) {
      const asked = ids.slice(start, end)
      const data = encodeList(subject, { wallet, ids: asked, bytesMax: PAGE_BYTES_MAX })
      return await runCooperatively(decodeList(await call({ data, block, isLight: start === 0 }), asked))
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
    read: await runCooperatively(interpretList(read, { chain, deployment, judge, spam, owner: wallet })),
  }
}

/** The position of one id, spam included, in one call. Throws `ContractUnresponsiveError` if the manager does not answer. */
export async function readSingle(
  { call, at, observeBlock }: LensAccess,
  tokenId: bigint,
  { chain, deployment, judge }: Omit<V4LensQueryContext, 'spam'>,
): Promise<ChainRead> {
  const subject = { deployment, prices: getPriceSources(chain) }
  const data = encodeOne(subject, tokenId)
  const read = await runCooperatively(decodeLens(await call({ data, block: at ?? 'latest', isLight: true }), [tokenId]))
  observeBlock(read.block)
  checkManager(read, { deployment, isPast: at !== undefined })
  const owner = read.owner ?? zeroAddress
  return await runCooperatively(interpret(read, { chain, deployment, judge, spam: 'included', owner }))
}

/** Throws if the manager does not answer. In the past it may not have stood yet. */
function checkManager(
  { manager }: Pick<RawRead, 'manager'>,
  { deployment, isPast }: { readonly deployment: UniswapV4Deployment; readonly isPast: boolean },
): void {
  if (manager === 'answers' || (isPast && manager === 'absent')) return
  throw new ContractUnresponsiveError(`position manager ${deployment.positionManager} does not answer`, undefined)
}
