import * as v from 'valibot'
import { base58Address, withFull } from '../../finance/figure.ts'
import { noPriceBecause } from '../../finance/price/price.ts'
import { named, withWords } from '../../lib/text/text_format.ts'
import type { AccountHolding } from '../holding.ts'
import { outlookLiquidity, outlookUnreadable } from '../liquidity/outlook.ts'
import {
  formatRewardApr,
  formatUsdE6OrNull,
  presentAmount,
  presentFields,
  presentShownFigures,
} from '../liquidity/present.ts'
import {
  amount,
  buildOutputs,
  integerText,
  rangeFigures,
  rewardApr,
  SOLANA,
  solanaToken,
  unsignedText,
  usdFigures,
  usdOrNullText,
  WORTH,
} from '../liquidity/schema.ts'
import type { PositionOutlook } from '../outlook.ts'
import {
  computeFigures,
  type FigureInput,
  type FigureState,
  type OrcaPosition,
  type OrcaToken,
  toReceivedAmount,
} from './math/figures.ts'

/** Chain id of Solana in answers. */
const CHAIN_ID = 101
const CODE = 'orca_whirlpool'

const receivedAmount = v.pipe(
  amount,
  v.description('What reaches the wallet of a token that takes a fee of each transfer'),
)
const taxedAmount = named(
  'TaxedAmount',
  'An amount of a token that may take a fee of each transfer',
  v.strictObject({ ...amount.entries, after_transfer_fee: v.optional(receivedAmount) }),
)
const taxedAmounts = named(
  'TaxedAmounts',
  'Amounts of both tokens',
  v.strictObject({ token0: taxedAmount, token1: taxedAmount }),
)

const reward = named(
  'OrcaReward',
  'What is owed of a reward of the pool',
  v.strictObject({
    token: solanaToken,
    ...amount.entries,
    collectable_raw: v.pipe(unsignedText, v.description("What the pool's vault can pay of it")),
    after_transfer_fee: v.optional(receivedAmount),
    usd: v.pipe(usdOrNullText, v.description('US dollars of what can be collected')),
    apr: rewardApr,
  }),
)

const worth = withWords(WORTH, usdOrNullText)

/** Success bodies, without `request_id`. */
export const OUTPUTS = buildOutputs({
  name: 'Orca',
  network: SOLANA,
  names: {
    position_address: withWords('Account of the position', base58Address),
    bundle: withWords(
      'The bundle that it is in; null if it is in none',
      v.nullable(
        v.strictObject({
          mint: withWords("Mint of the bundle's token", base58Address),
          index: withWords('Its place in the bundle', v.pipe(v.number(), v.integer())),
        }),
      ),
    ),
    locked: v.pipe(
      v.boolean(),
      v.description('Its liquidity can never be withdrawn; fees and rewards can be collected'),
    ),
  },
  pool: {
    id: withWords('Account of the pool', base58Address),
    tick: withWords('Current tick', integerText),
    feeTier: withWords('Hundredths of a bip, without the adaptive part: 3000 is 0.3 %', unsignedText),
    adaptiveFee: withWords('Whether the fee also follows how the price moves', v.boolean()),
  },
  sqrtPrice: v.pipe(unsignedText, v.description('Square root of base units of token1 per token0, Q64.64')),
  tokens: [solanaToken, solanaToken],
  code: v.literal(CODE),
  getFigures: () => ({
    amounts: withFull(taxedAmounts, 'what withdrawing all liquidity would pay, in raw units and whole tokens'),
    uncollected_fees: withFull(taxedAmounts, 'what the program would write as owed now, to the base unit'),
    rewards: withFull(v.array(reward), 'what is owed of each reward of the pool'),
    ...rangeFigures,
    usd: usdFigures(
      { amounts: worth, uncollected_fees: worth, rewards: worth },
      'US dollars of what reaches the wallet; null if a price is missing; total is all of it together',
      SOLANA,
    ),
  }),
})

/** Presents a position, with its figures if it has `figureState`. */
export function presentPosition(
  position: OrcaPosition,
  options: { readonly hasSqrtPrice: boolean; readonly hasSlot: boolean },
) {
  const { program, tokenId, address, wallet, bundle, isLocked, slot, state, pool, figureState } = position
  return presentFields({
    id: tokenId,
    chainId: CHAIN_ID,
    manager: program,
    names: {
      position_address: address,
      bundle: bundle === undefined ? null : { mint: bundle.mint, index: bundle.index },
      locked: isLocked,
    },
    wallet,
    slot: options.hasSlot ? slot : undefined,
    code: CODE,
    state,
    tokens: [presentToken(position.tokenA), presentToken(position.tokenB)],
    pool: {
      id: state.pool,
      tick: pool.tick.toString(),
      feeTier: pool.feeRate.toString(),
      adaptiveFee: pool.hasAdaptiveFee,
    },
    sqrtPrice: options.hasSqrtPrice ? pool.sqrtPriceX64 : undefined,
    figures: figureState && presentFigures({ ...position, ...figureState }),
  })
}

function presentFigures(position: FigureInput<OrcaToken>) {
  const { tokenA, tokenB } = position
  const { amounts, fees, rewards, usd, ...figures } = computeFigures(position)
  return presentShownFigures({
    ...figures,
    amounts: { token0: presentTaxed(amounts.amount0, tokenA), token1: presentTaxed(amounts.amount1, tokenB) },
    fees: { token0: presentTaxed(fees.amount0, tokenA), token1: presentTaxed(fees.amount1, tokenB) },
    others: {
      rewards: rewards.map(({ token: rewardToken, owed, collectable, perYear, usdE6 }) => ({
        token: presentToken(rewardToken),
        ...presentAmount(owed, rewardToken),
        collectable_raw: collectable.toString(),
        ...presentAfterFee(collectable, rewardToken),
        usd: formatUsdE6OrNull(usdE6),
        apr: formatRewardApr(toReceivedAmount(perYear, rewardToken), { ...rewardToken, capitalE6: usd.amountsE6 }),
      })),
    },
    tokenPrices: [toShownPrice(tokenA), toShownPrice(tokenB)],
    usd: { ...usd, others: { rewards: formatUsdE6OrNull(usd.rewardsE6) } },
  })
}

function toShownPrice({ price }: OrcaToken) {
  return { price, source: price === undefined ? null : 'scope', confidence: price === undefined ? null : 'oracle' }
}

function presentTaxed(raw: bigint, orcaToken: OrcaToken) {
  return { ...presentAmount(raw, orcaToken), ...presentAfterFee(raw, orcaToken) }
}

function presentAfterFee(raw: bigint, orcaToken: OrcaToken) {
  return orcaToken.transferFee === undefined
    ? {}
    : { after_transfer_fee: presentAmount(toReceivedAmount(raw, orcaToken), orcaToken) }
}

function presentToken({ address, symbol, decimals, name }: OrcaToken) {
  return { id: address, symbol, decimals, name }
}

/** Part of a position that a row shows. */
type Part = 'principal' | 'fees' | 'rewards'

/**
 * Converts a position to rows of a portfolio, in amounts after transfer fees: the payout of withdrawing all liquidity,
 * fees owed, and the collectable part of each reward. A token that is spam refuses its own rows only.
 */
export function toHoldings(position: OrcaPosition & { readonly figureState: FigureState }): AccountHolding[] {
  const { tokenA, tokenB, figureState } = position
  const input: FigureInput<OrcaToken> = { ...position, ...figureState }
  const { amounts, fees, rewards } = computeFigures(input)
  const toRows = (token: OrcaToken, gross: bigint, part: Part): AccountHolding[] => {
    const amount = toReceivedAmount(gross, token)
    return amount === 0n ? [] : [createRow(position, { token, amount, part })]
  }
  return [
    ...toRows(tokenA, amounts.amount0, 'principal'),
    ...toRows(tokenB, amounts.amount1, 'principal'),
    ...toRows(tokenA, fees.amount0, 'fees'),
    ...toRows(tokenB, fees.amount1, 'fees'),
    ...rewards.flatMap(({ token, collectable }) => toRows(token, collectable, 'rewards')),
  ]
}

/** Says what is to be seen to at a position. Its fees of a day cannot be told: endpoints keep no past state. */
export function outlookPosition(position: OrcaPosition & { readonly figureState: FigureState }): PositionOutlook {
  const { tokenId, state, pool, tokenA, tokenB, figureState } = position
  const { fees } = computeFigures({ ...position, ...figureState })
  return outlookLiquidity({
    position: nameHeld(position),
    code: CODE,
    tokenId,
    liquidity: state.liquidity,
    tickLower: state.tickLower,
    tickUpper: state.tickUpper,
    tick: pool.tick,
    tokens: [tokenA, tokenB],
    owed: { amount0: toReceivedAmount(fees.amount0, tokenA), amount1: toReceivedAmount(fees.amount1, tokenB) },
    // The program pays what is withdrawn at once.
    isCredited: false,
    inside: 'untold',
    timestampSec: position.timestampSec,
  })
}

/** Says that a position cannot be read, and why. */
export function outlookBroken(held: HeldName, reason: string): PositionOutlook {
  return outlookUnreadable({ position: nameHeld(held), code: CODE }, { tokenId: held.tokenId, reason })
}

/** What names a position in rows. */
type HeldName = Pick<OrcaPosition, 'program' | 'tokenId' | 'address'>

function nameHeld({ program, tokenId, address }: HeldName) {
  return { family: 'orca-whirlpool', manager_address: program, token_id: tokenId, position_address: address }
}

function createRow(
  { slot, ...held }: OrcaPosition,
  options: {
    readonly token: OrcaToken
    readonly amount: bigint
    readonly part: Part
  },
): AccountHolding {
  const { token, amount, part } = options
  const { spam, price, noPrice = noPriceBecause('none was read') } = token
  return {
    kind: 'liquidity',
    slot,
    token,
    amount,
    position: { ...nameHeld(held), part },
    price: price === undefined ? noPrice : { kind: 'price', price },
    ...(spam === undefined ? {} : { refused: { reason: 'spam', detail: spam } }),
  }
}
