import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { decodeTokenAccount, getTransferFee, type TokenAccount } from '../../../chain/solana/token.ts'
import type { ScopePrices } from '../../../finance/price/scope.ts'
import { type SolanaToken, solanaSpamReason } from '../../../finance/token/solana_tokens.ts'
import type { FigureState, OrcaPosition, OrcaSpam, OrcaToken } from '../math/figures.ts'
import type { RangeTicks, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from '../math/state.ts'
import { type AccountCache, decodeAccount } from './account_cache.ts'
import { getTokenId, type PositionItem, type ReadDepth } from './item.ts'
import { decodeTick } from './layout.ts'

/** Result of interpreting accounts of one slot as a listed position. */
export type PositionInterpretation =
  | { readonly kind: 'position'; readonly position: OrcaPosition; readonly spam: OrcaSpam | undefined }
  /** The position exists, but its accounts cannot be decoded; `reason` follows "because". */
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** An account changed after the position was listed, so other accounts must be read. */
  | { readonly kind: 'changed' }

const CHANGED = { kind: 'changed' } as const

/** Creates an interpreter of accounts of one slot. */
export function createInterpreter({ cache, prices }: { readonly cache: AccountCache; readonly prices: ScopePrices }) {
  function toOrcaToken(token: SolanaToken, group: AccountGroup, depth: ReadDepth): OrcaToken {
    const { address, symbol, name, decimals, mint } = token
    const transferFee = getTransferFee(mint, group.epoch)
    const { reason: spam } = solanaSpamReason(token)
    const base = { address, symbol, name, decimals, transferFee, price: undefined, ...(spam && { spam }) }
    if (depth === 'brief') return base
    const { accounts, timestampSec } = group
    const outcome = prices.getPrice(accounts, { address, isScaled: mint.isScaled }, timestampSec)
    return outcome.kind === 'price' ? { ...base, price: outcome.price } : { ...base, noPrice: outcome }
  }

  function findTicks(
    { program, pool, state }: { readonly program: string; readonly pool: Whirlpool; readonly state: WhirlpoolPosition },
    { accounts }: AccountGroup,
  ): RangeTicks | 'unread' | undefined {
    const findTick = (tick: number): WhirlpoolTick | 'unread' | undefined => {
      const account = accounts.get(
        cache.getTickArrayAddress(program, state.pool, { tickSpacing: pool.tickSpacing, tick }),
      )
      if (account === undefined) return 'unread'
      if (account?.owner !== program) return undefined
      return decodeTick(account.data, { pool: state.pool, tickSpacing: pool.tickSpacing, tick })
    }
    const [lower, upper] = [findTick(state.tickLower), findTick(state.tickUpper)]
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
    const findOwn = (accountAddress: string) => {
      const account = accounts.get(accountAddress)
      return account?.owner === program ? decodeAccount(account) : undefined
    }

    const token = findHeldToken(accounts, held, wallet)
    const state = findOwn(address)?.position
    if (token === undefined || state?.mint !== held.mint) return CHANGED
    if (bundle !== undefined && findOwn(bundle.address)?.bundle?.indexes.includes(bundle.index) !== true) return CHANGED
    if (!accounts.has(state.pool)) return CHANGED
    const pool = findOwn(state.pool)?.pool
    if (pool === undefined) return { kind: 'unreadable', reason: `its pool ${state.pool} is missing or broken` }

    const mints = [pool.mintA, pool.mintB, ...(depth === 'full' ? pool.rewards.map(({ mint }) => mint) : [])]
    const isUnread = (mint: string) => !accounts.has(mint) && cache.tokens.known(mint) === undefined
    if (mints.some(isUnread)) return CHANGED
    const tokens = new Map(mints.map((mint) => [mint, cache.tokens.getToken(accounts, mint)]))
    const [tokenA, tokenB] = [tokens.get(pool.mintA), tokens.get(pool.mintB)]
    if (tokenA === undefined || tokenB === undefined) {
      return { kind: 'unreadable', reason: `the mint of a token of its pool ${state.pool} is missing or broken` }
    }

    const figureState = depth === 'full' ? toFigureState() : undefined
    if (figureState === 'unread') return CHANGED
    if (typeof figureState === 'string') return { kind: 'unreadable', reason: figureState }
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
        figureState,
        bundle: bundle && { mint: held.mint, index: bundle.index },
        isLocked: token.isFrozen,
        tokenA: toOrcaToken(tokenA, group, depth),
        tokenB: toOrcaToken(tokenB, group, depth),
      },
    }

    function toFigureState(): FigureState | string {
      if (pool === undefined || state === undefined) return 'unread'
      const ticks = state.liquidity === 0n ? undefined : findTicks({ program, pool, state }, group)
      if (ticks === 'unread') return ticks
      if (ticks === undefined && state.liquidity > 0n) return 'the ticks of its range are missing or broken'
      const rewards: FigureState['rewards'][number][] = []
      for (const { mint, vault } of pool.rewards) {
        const account = accounts.get(vault)
        if (account === undefined) return 'unread'
        const rewardToken = tokens.get(mint)
        const vaultAccount = account === null ? undefined : decodeTokenAccount(account.data)
        if (rewardToken === undefined || vaultAccount?.mint !== mint)
          return `a reward of its pool ${state.pool} cannot be read`
        rewards.push({ token: toOrcaToken(rewardToken, group, depth), vaultAmount: vaultAccount.amount })
      }
      return { ticks, rewards }
    }
  }
}

/** Finds the wallet's token account of a position, if it still holds the one unit. */
export function findHeldToken(
  accounts: AccountGroup['accounts'],
  held: PositionItem['held'],
  wallet: string,
): TokenAccount | undefined {
  const account = accounts.get(held.address)
  const token = account?.owner === held.program ? decodeTokenAccount(account.data) : undefined
  return token?.mint === held.mint && token.owner === wallet && token.amount === 1n ? token : undefined
}
