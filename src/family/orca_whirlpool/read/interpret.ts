import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { getTransferFee } from '../../../chain/solana/token/mint.ts'
import { decodeTokenAccount, type TokenAccount } from '../../../chain/solana/token_account.ts'
import type { ScopePrices } from '../../../finance/price/scope/prices.ts'
import { type SolanaToken, solanaSpamReason } from '../../../finance/token/solana_token.ts'
import type { FigureState, OrcaPosition, OrcaSpam, OrcaToken } from '../math/position.ts'
import type { RangeTicks, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from '../math/state.ts'
import { type AccountCache, decodeAccount } from './account_cache.ts'
import { getTokenId, type PositionItem, type ReadDepth } from './item.ts'
import { decodeTick } from './layout.ts'

/** What accounts of one slot say about a position that was named before. */
export type PositionInterpretation =
  | { readonly kind: 'position'; readonly position: OrcaPosition; readonly spam: OrcaSpam | undefined }
  /** It is there, and its accounts do not make a position; `because` follows "because". */
  | { readonly kind: 'unreadable'; readonly because: string }
  /** Something changed since it was named, so that other accounts must be read. */
  | { readonly kind: 'changed' }

const CHANGED = { kind: 'changed' } as const

/** Makes an interpreter of accounts, all of one slot. */
export function createInterpreter({ known, prices }: { readonly known: AccountCache; readonly prices: ScopePrices }) {
  function tokenIn(token: SolanaToken, group: AccountGroup, depth: ReadDepth): OrcaToken {
    const { address, symbol, name, decimals, mint } = token
    const transferFee = getTransferFee(mint, group.epoch)
    const shown = { address, symbol, name, decimals, transferFee, price: undefined }
    if (depth === 'brief') return shown
    const { accounts, timestampSec } = group
    const found = prices.priceIn(accounts, { address, isScaled: mint.isScaled }, timestampSec)
    return found.kind === 'price' ? { ...shown, price: found.price } : { ...shown, noPrice: found }
  }

  function ticksOf(
    { program, pool, state }: { readonly program: string; readonly pool: Whirlpool; readonly state: WhirlpoolPosition },
    { accounts }: AccountGroup,
  ): RangeTicks | 'unread' | undefined {
    const tickAt = (tick: number): WhirlpoolTick | 'unread' | undefined => {
      const account = accounts.get(known.arrayOf(program, state.pool, { tickSpacing: pool.tickSpacing, tick }))
      if (account === undefined) return 'unread'
      if (account?.owner !== program) return undefined
      return decodeTick(account.data, { pool: state.pool, tickSpacing: pool.tickSpacing, tick })
    }
    const [lower, upper] = [tickAt(state.tickLower), tickAt(state.tickUpper)]
    if (lower === 'unread' || upper === 'unread') return 'unread'
    return lower === undefined || upper === undefined ? undefined : { lower, upper }
  }

  return (
    item: PositionItem,
    group: AccountGroup,
    { wallet, depth }: { wallet: string; depth: ReadDepth },
  ): PositionInterpretation => {
    const { program, address, held, bundle } = item
    const { accounts, slot, timestampSec } = group
    const own = (of: string) => {
      const account = accounts.get(of)
      return account?.owner === program ? decodeAccount(account) : undefined
    }

    const token = findHeldToken(accounts, held, wallet)
    const state = own(address)?.position
    if (token === undefined || state?.mint !== held.mint) return CHANGED
    if (bundle !== undefined && own(bundle.address)?.bundle?.places.includes(bundle.place) !== true) return CHANGED
    if (!accounts.has(state.pool)) return CHANGED
    const pool = own(state.pool)?.pool
    if (pool === undefined) return { kind: 'unreadable', because: `its pool ${state.pool} is missing or broken` }

    const wanted = [pool.mintA, pool.mintB, ...(depth === 'full' ? pool.rewards.map(({ mint }) => mint) : [])]
    const isUnread = (mint: string) => !accounts.has(mint) && known.tokens.known(mint) === undefined
    if (wanted.some(isUnread)) return CHANGED
    const tokens = new Map(wanted.map((mint) => [mint, known.tokens.tokenIn(accounts, mint)]))
    const [tokenA, tokenB] = [tokens.get(pool.mintA), tokens.get(pool.mintB)]
    if (tokenA === undefined || tokenB === undefined) {
      return { kind: 'unreadable', because: `the mint of a token of its pool ${state.pool} is missing or broken` }
    }

    const figured = depth === 'full' ? figuredOf() : undefined
    if (figured === 'unread') return CHANGED
    if (typeof figured === 'string') return { kind: 'unreadable', because: figured }
    const reason = solanaSpamReason(tokenA).reason ?? solanaSpamReason(tokenB).reason
    const tokenId = getTokenId(item)
    return {
      kind: 'position',
      spam: reason === undefined ? undefined : { program, tokenId, reason },
      position: {
        slot,
        timestampSec,
        program,
        tokenId,
        address,
        wallet,
        state,
        pool,
        figured,
        bundle: bundle && { mint: held.mint, place: bundle.place },
        isLocked: token.isFrozen,
        tokenA: tokenIn(tokenA, group, depth),
        tokenB: tokenIn(tokenB, group, depth),
      },
    }

    function figuredOf(): FigureState | string {
      if (pool === undefined || state === undefined) return 'unread'
      const ticks = state.liquidity === 0n ? undefined : ticksOf({ program, pool, state }, group)
      if (ticks === 'unread') return ticks
      if (ticks === undefined && state.liquidity > 0n) return 'the ticks of its range are missing or broken'
      const rewards: FigureState['rewards'][number][] = []
      for (const { mint, vault } of pool.rewards) {
        const account = accounts.get(vault)
        if (account === undefined) return 'unread'
        const rewardToken = tokens.get(mint)
        const paid = account === null ? undefined : decodeTokenAccount(account.data)
        if (rewardToken === undefined || paid?.mint !== mint) return `a reward of its pool ${state.pool} cannot be read`
        rewards.push({ token: tokenIn(rewardToken, group, depth), inVault: paid.amount })
      }
      return { ticks, rewards }
    }
  }
}

/** What a wallet's account of a token holds, if that is still its one unit. */
export function findHeldToken(
  accounts: AccountGroup['accounts'],
  held: PositionItem['held'],
  wallet: string,
): TokenAccount | undefined {
  const account = accounts.get(held.address)
  const token = account?.owner === held.program ? decodeTokenAccount(account.data) : undefined
  return token?.mint === held.mint && token.owner === wallet && token.amount === 1n ? token : undefined
}
