import { type Address, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { type LensWay, ladderOf, type Rung } from '../../../chain/call/lens.ts'
import { type Endpoint, SilentError } from '../../../chain/rpc/client.ts'
import { priceSourcesOf } from '../../../finance/price/price_sources.ts'
import type { TokenJudge } from '../../../finance/token/spam/judge.ts'
import { inTurns } from '../../../lib/async/turns.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { FamilyPlace } from '../../place.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { Picks } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type BriefPosition, type ChainRead, interpret, interpretScan, joinScans } from './position.ts'
import { type LensSource, readOneByLens, readSomeByLens, readWalletByLens, scanWalletByLens } from './read_lens.ts'
import type { RawRead, RawScan } from './state.ts'

/** Most positions of one wallet on one chain. A longer list is refused, not cut. */
const LIST_MAX = 100_000
/**
 * Positions in one call, whole and in brief: 500 take about 14 million gas, 2,000 in brief about 40 million, and nodes
 * allow 50 million. A deployless call shares its gas with the deployment, and the nodes that need one allow the least.
 */
const PAGE_SIZES = { override: 500, deployless: 40 } as const
const BRIEF_PAGE_SIZES = { override: 2_000, deployless: 200 } as const

/** A wallet has more positions on one chain than a list may hold. */
export class ListTooLongError extends Error {
  override readonly name = 'ListTooLongError'
}

/** Where a chain's positions are read. */
export type UniswapV3Place = FamilyPlace<UniswapV3Deployment>

/** A question to a chain. */
export interface Question<Answer> {
  /** The key for sharing answers. */
  readonly key: string
  /** The ways of asking one endpoint, in the order of `ways`. */
  ladder(endpoint: Endpoint, ways: readonly LensWay[]): Rung<Answer>[]
}

/** Where a question is asked, and what judges the tokens of its answer. */
export interface Asked {
  readonly place: UniswapV3Place
  readonly judge: TokenJudge['judge']
}

/** All positions of a wallet; undefined if the lens finds more than `wholeMax`, so that they must be read in brief. */
export function walletQuestion(
  { wallet, wholeMax }: { readonly wallet: Address; readonly wholeMax: number },
  asked: Asked,
): Question<ChainRead | undefined> {
  const countOf = countFor(wallet, asked.place)
  return {
    key: `wallet:${wallet.toLowerCase()}`,
    ladder: ladderFor(asked.place, PAGE_SIZES, async (source) => {
      const raw = await readWalletByLens(source, { wallet, wholeMax, countOf })
      return countOf(raw.managers) > wholeMax ? undefined : await inTurns(interpret(raw, optionsOf(asked, 'apart')))
    }),
  }
}

/** All positions of a wallet, spam included, and how many they are; none are read if that is more than `wholeMax`. */
export function heldQuestion(
  { wallet, wholeMax }: { readonly wallet: Address; readonly wholeMax: number },
  asked: Asked,
): Question<{ readonly count: number; readonly read: ChainRead }> {
  const countOf = (managers: RawRead['managers']) => countIn(managers, wallet, asked.place)
  return {
    key: `held:${wallet.toLowerCase()}`,
    ladder: ladderFor(asked.place, PAGE_SIZES, async (source) => {
      const raw = await readWalletByLens(source, { wallet, wholeMax, countOf })
      const count = countOf(raw.managers)
      const positions = count > wholeMax ? [] : raw.positions
      return { count, read: await inTurns(interpret({ ...raw, positions }, optionsOf(asked, 'included'))) }
    }),
  }
}

/** All positions of a wallet in brief, up to the longest list. */
export function scanQuestion(wallet: Address, asked: Asked): Question<ChainRead<BriefPosition>> {
  const countOf = countFor(wallet, asked.place)
  const options = optionsOf(asked, 'apart')
  return {
    key: `scan:${wallet.toLowerCase()}`,
    ladder: ladderFor(asked.place, BRIEF_PAGE_SIZES, async (source) => {
      const digest = (page: RawScan) => inTurns(interpretScan(page, options))
      const { block, pages } = await scanWalletByLens(source, { wallet, countOf, digest })
      const digests = pages.map(({ page }) => page.digest)
      return await inTurns(joinScans({ ...pages[0].page.block, hash: block.hash }, digests))
    }),
  }
}

/** Some of an owner's positions, at least one, at the block of the list that they are from. */
export function someQuestion(
  { owner, picks, block }: { readonly owner: Address; readonly picks: Picks; readonly block: PinnedBlock },
  asked: Asked,
): Question<ChainRead> {
  const names = picks.map(({ manager, tokenId }) => `${manager}-${tokenId}`)
  return {
    key: `some:${block.hash}:${owner.toLowerCase()}:${names.join()}`,
    ladder: ladderFor(asked.place, PAGE_SIZES, async (source) => {
      const raw = await readSomeByLens(source, { owner, picks, block })
      const read = await inTurns(interpret(raw, optionsOf(asked, 'included')))
      const found = new Set([...read.positions, ...read.unreadable].map(({ tokenId }) => tokenId))
      if (picks.every(({ tokenId }) => found.has(tokenId))) return read
      throw new UpstreamError('The endpoint answers about other positions than were asked for')
    }),
  }
}

/** The positions of one id on all managers. */
export function oneQuestion(tokenId: bigint, asked: Asked): Question<ChainRead> {
  return {
    key: `one:${tokenId}`,
    ladder: ladderFor(asked.place, PAGE_SIZES, async (source) => {
      const raw = await readOneByLens(source, tokenId)
      checkManagers(raw.managers, asked.place.deployments, 'manager_address')
      return await inTurns(interpret(raw, optionsOf(asked, 'included')))
    }),
  }
}

function optionsOf<const Spam>({ place, judge }: Asked, spam: Spam) {
  return { chain: place.client.chain, deployments: place.deployments, judge, spam }
}

function ladderFor<Answer>(
  { client: { chain }, deployments, block: at }: UniswapV3Place,
  pageSizes: Readonly<Record<LensWay, number>>,
  byLens: (source: LensSource) => Promise<Answer>,
): Question<Answer>['ladder'] {
  return (endpoint, ways) =>
    ladderOf<Answer>({
      ways,
      endpoint,
      chainId: chain.id,
      at,
      runtime: LENS_RUNTIME,
      byLens(access, way) {
        const subject = { deployments, ...priceSourcesOf(chain.prices) }
        return byLens({ ...access, subject, pageSize: pageSizes[way] })
      },
    })
}

/** Counts a wallet's positions over all managers of a place. Throws if one does not answer or beyond `LIST_MAX`. */
function countFor(wallet: Address, place: UniswapV3Place) {
  const { chain } = place.client
  return (managers: RawRead['managers']): number => {
    const count = countIn(managers, wallet, place)
    if (count <= LIST_MAX) return count
    throw new ListTooLongError(
      `Cannot list ${count} positions on chain ${chain.id} (${chain.name}): at most ${LIST_MAX} can be listed`,
    )
  }
}

/** The same for any number of them. */
function countIn(managers: RawRead['managers'], wallet: Address, { deployments }: UniswapV3Place): number {
  // ERC-721: the zero address owns nothing, and `balanceOf` reverts for it.
  if (wallet !== zeroAddress) checkManagers(managers, deployments)
  return managers.reduce((sum, { balance = 0 }) => sum + balance, 0)
}

/** Throws if a manager does not answer: without it, a total would be too small. */
function checkManagers(
  managers: RawRead['managers'],
  deployments: readonly UniswapV3Deployment[],
  parameter?: 'manager_address',
): void {
  const silent = deployments.find((_, index) => managers[index]?.balance === undefined)
  if (silent === undefined) return
  const leftOutBy = deployments.length > 1 ? parameter : undefined
  throw new SilentError(`position manager ${silent.manager} does not answer`, leftOutBy)
}
