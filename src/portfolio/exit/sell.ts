import { type Address, encodeErrorResult, parseAbi, toFunctionSelector, zeroAddress } from 'viem'
import { executeUnits, type UnitOutcome } from '../../chain/call/exit/execute.ts'
import type { ExitStep, ExitUnit, StepOutcome } from '../../chain/call/exit/step.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { explainBy, type HoldingExit } from '../../family/exit.ts'
import type { FinanceChain, FinanceClient } from '../../finance/chain.ts'
import type { PricedQuote } from '../../finance/price/pool/pool_price.ts'
import { readSaleRoutes, type SaleHop, type SaleRoutes } from '../../finance/price/pool/read_sale_routes.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { maxBigint, minBigint } from '../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../lib/number/rational.ts'
import type { AssetsRead, Row } from '../sum/row.ts'
import { type OutsideMoney, toUnitKey } from './attribute.ts'
import { refuseLate, tryEndpoints } from './read.ts'

/** Reasons why a token is not sold. */
export const SALE_REASONS = [
  'no_pool',
  'no_liquidity',
  'too_little',
  'token_refuses',
  'unfunded',
  'too_costly',
  'unsupported',
] as const

/** Time limit over all calls and attempts, milliseconds. */
const BUDGET_MS = 6_000
/** Time after which no further call is made, milliseconds. */
const TRIAL_MS = 4_000
/** Positions that are withdrawn again, the worthiest: some 60 use up the gas of a call, and strangers can give many. */
const WITHDRAWN_MAX = 40
/** Calls in a row: each leaves out what used up the gas in the one before, so that what depends on it is tried. */
const ROUNDS_MAX = 8
/** Steps, and tokens, of one call. */
const CALL_MAX = 255
const DEPOSIT = toFunctionSelector('deposit()')
const Q192 = 1n << 192n
/** Square root of a tenth of the price, and of ten times it, in ten thousandths: a sale moves a pool no further. */
const LIMITS = { least: 3_162n, most: 31_623n, unit: 10_000n } as const
/** The least and the greatest square root of a price that a pool moves to: `TickMath`'s, a unit within. */
const ROOTS = { least: 4295128740n, greatest: 1461446703485210103287273052203988822378723970341n } as const

/** A token that arrives and is sold, or why it is not. */
interface SoldToken {
  readonly token: Row['token']
  /** What arrives of it, less what is owed in it, smallest units. */
  readonly amount: bigint
  /** Smallest units of the other token; undefined if nothing of it is sold. */
  readonly brings: bigint | undefined
  /** In their order. */
  readonly pools: readonly Address[]
  /** By which share it brings less than at the prices of its pools before anything was sold. */
  readonly impact: Rational | undefined
  /** Why nothing of it is sold; absent if all of it is. */
  readonly blockage?: { readonly reason: (typeof SALE_REASONS)[number]; readonly detail: string }
}

/** What came of selling what arrives. */
export interface Sale {
  readonly into: Address
  readonly decimals: number | undefined
  readonly price: PricedQuote['price'] | undefined
  /** What there is of it in the end, smallest units. */
  readonly brings: bigint
  readonly sold: readonly SoldToken[]
  /** Money from elsewhere that is owed in the end, smallest units. */
  readonly owed: readonly { readonly token: Address; readonly amount: bigint }[]
}

/** What arrives of a wallet on a chain, and what it is sold for. */
interface SaleQuery {
  readonly wallet: Address
  readonly exits: NonNullable<AssetsRead['exits']>
  /** Rows with what counts of them, and of debts what is repaid; worthiest first. */
  readonly arrived: readonly Row[]
  readonly outside: readonly OutsideMoney[]
  readonly into: Address
}

/** Sells what arrives. */
export interface SaleReader {
  /**
   * Executes the withdrawals of liquidity again, and sells in the same call what arrives: token by token, the worthiest
   * first, each in the pool of Uniswap V3 that prices it or over one more. What other contracts pay is lent to the wallet
   * for it, because paying it moves no pool, and so is what positions pay behind hooks or beyond the worthiest. Tokens that
   * pools alone price get two chances each, and ten together, to use up the gas of a step; the others are then sold in another
   * call without them. Nothing is sold of a wallet with code of its own. Throws `UnavailableError` if the chain cannot be read.
   */
  read(query: SaleQuery, work: Work): Promise<Sale>
}

/** Creates a reader over clients by chain id. */
export function createSaleReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly clock: Clock
  /** True if an answer is recorded: one that is cut short is refused. @default {false} */
  readonly isRecorded?: boolean
}): SaleReader {
  const { clients, clock, isRecorded = false } = options
  return {
    async read(query, work) {
      const { wallet, exits, into } = query
      const { block, past, lenders } = exits
      const client = clients.get(block.chainId)
      const untilMs = clock.monotonicMs() + TRIAL_MS
      const sellAt = async (chain: FinanceChain, endpoint: Endpoint, within: Work): Promise<Sale> => {
        const tokens = [...new Set(listOffers(query, []).map(({ token }) => toTraded(token.address, chain)))]
        const routes = await readSaleRoutes({ endpoint, block }, { chain, tokens, into, clock }, within)
        const spent = createSpent()
        let before: Sale | undefined
        for (let round = 1; ; round++) {
          const plan = createPlan(query, { routes, chain, spent })
          if (plan.sales.length === 0) return toSale(query, plan, undefined)
          if (plan.unit === undefined) return toSale(query, plan, { kind: 'too_costly' })
          const { units, hasOwnCode } = await executeUnits(
            endpoint,
            { wallet, units: [plan.unit], lenders, block, clock, untilMs },
            within,
          )
          if (isRecorded) refuseLate(units, wallet)
          if (hasOwnCode) return toSale(query, plan, { kind: 'own_code' })
          const [outcome] = units
          // What was sold before counts if the time is over now.
          if (outcome?.kind !== 'run' && before !== undefined) return before
          before = toSale(query, plan, outcome)
          if (round >= ROUNDS_MAX || !hasSuspected(outcome) || !noteSpent(spent, plan, outcome)) return before
        }
      }
      const sale =
        client &&
        (await tryEndpoints(client, (endpoint, within) => sellAt(client.chain, endpoint, within), {
          work,
          budgetMs: BUDGET_MS,
          ...(past && { past }),
        }))
      const offers = listOffers(query, [])
      const nothing = { withdrawn: [], sales: [], loans: new Map<Address, number>(), unit: undefined }
      const unsold = { ...nothing, offers, routes: NO_ROUTES, spent: createSpent() }
      return sale ?? toSale(query, unsold, { kind: 'unsupported' })
    },
  }
}

const NO_ROUTES: SaleRoutes = { hops: new Map(), decimals: undefined, into: undefined }

/** Tokens and positions that used up the gas of a step, and are left out of later calls. */
interface Spent {
  readonly tokens: Set<Address>
  /** By the key of their unit. */
  readonly exits: Set<string>
}

function createSpent(): Spent {
  return { tokens: new Set(), exits: new Set() }
}

function hasSuspected(outcome: UnitOutcome | undefined): boolean {
  return outcome?.kind === 'run' && outcome.steps.some(({ kind }) => kind === 'suspected')
}

/** Notes what used up the gas of a step that may be left out; false if nothing did. */
function noteSpent(spent: Spent, { withdrawn, sales, loans }: SalePlan, outcome: UnitOutcome | undefined): boolean {
  const isSpent = (place: number) => outcome?.kind === 'run' && outcome.steps[place]?.kind === 'too_costly'
  const before = spent.tokens.size + spent.exits.size
  for (const { offer, place } of sales) if (isSpent(place)) spent.tokens.add(offer.token.address as Address)
  for (const [token, place] of loans) if (isSpent(place)) spent.tokens.add(token)
  let first = 0
  for (const { steps, position } of withdrawn) {
    if (steps.some((_, index) => isSpent(first + index))) spent.exits.add(toUnitKey(position))
    first += steps.length
  }
  return spent.tokens.size + spent.exits.size > before
}

/** What arrives of a token, less what is owed in it. */
interface Offer {
  readonly token: Row['token']
  readonly amount: bigint
  /** What of it the wallet must be lent, because its withdrawal is not executed again. */
  readonly lent: bigint
  /** The token, if pools alone price it: it may be hostile. */
  readonly suspects: readonly Address[]
}

/** Sums what arrives by token, in the order of the rows; what is owed in a token is paid with it first. */
function listOffers({ arrived, outside, into }: SaleQuery, withdrawn: readonly HoldingExit[]): readonly Offer[] {
  const again = new Set(withdrawn.map(({ position }) => toUnitKey(position)))
  const paid = arrived.filter(({ kind, position }) => {
    return kind === 'supplied' || (kind === 'liquidity' && position !== null && !again.has(toUnitKey(position)))
  })
  const tokens = new Map(arrived.map((row) => [row.token.address as Address, row]))
  return [...tokens].flatMap(([address, { token, price }]) => {
    if (address === into) return []
    const owed = sumAmounts(outside.filter((each) => each.token === address))
    const lent = maxBigint(0n, sumOwn(paid, address) - owed)
    const amount = sumOwn(arrived, address) - owed
    const suspects = price?.source === 'pool' ? [address] : []
    return amount <= 0n ? [] : [{ token, amount, lent, suspects }]
  })
}

/** One call that sells offers. */
interface SalePlan {
  /** Withdrawn again before anything is sold. */
  readonly withdrawn: readonly HoldingExit[]
  readonly offers: readonly Offer[]
  readonly spent: Spent
  readonly routes: SaleRoutes
  /** Offers with a route, and the place of their steps. */
  readonly sales: readonly { readonly offer: Offer; readonly hops: readonly SaleHop[]; readonly place: number }[]
  /** By token, the place of the step that lends it. */
  readonly loans: ReadonlyMap<Address, number>
  /** Undefined if there is too much for one call. */
  readonly unit: ExitUnit | undefined
}

function createPlan(
  query: SaleQuery,
  { routes, spent, chain }: Pick<SalePlan, 'routes' | 'spent'> & { readonly chain: FinanceChain },
): SalePlan {
  const { into } = query
  const withdrawn = listWithdrawn(query, spent)
  const offers = listOffers(query, withdrawn)
  const isLeft = ({ token }: Offer) => !spent.tokens.has(token.address as Address)
  const steps: ExitStep[] = withdrawn.flatMap(({ steps: own, suspects = [] }) =>
    own.map((step) => ({ ...step, suspects })),
  )
  const loans = new Map<Address, number>()
  for (const { token, lent, suspects } of offers.filter(isLeft)) {
    const address = token.address as Address
    if (lent === 0n) continue
    loans.set(address, steps.length)
    steps.push({ tokens: [address], loan: { token: address, amount: lent }, calls: [], suspects })
  }
  const sales = offers.filter(isLeft).flatMap((offer) => {
    const traded = toTraded(offer.token.address, chain)
    const hops = traded === into ? [] : routes.hops.get(traded)
    if (hops === undefined) return []
    const place = steps.length
    steps.push(createSaleStep(offer, { hops, traded, into }))
    return [{ offer, hops, place }]
  })
  const tokens = new Set(steps.flatMap((step) => step.tokens))
  const isTooLarge = steps.length > CALL_MAX || tokens.size > CALL_MAX
  const parties = withdrawn.flatMap((exit) => [...(exit.parties ?? []), ...(exit.suspects ?? [])])
  return { withdrawn, offers, spent, routes, sales, loans, unit: isTooLarge ? undefined : { steps, parties } }
}

/** Exits of the worthiest liquidity of which something arrives; those behind hooks, which move no pool, are left out. */
function listWithdrawn({ exits, arrived }: SaleQuery, spent: Spent): readonly HoldingExit[] {
  const exitByKey = new Map(exits.list().map((exit) => [toUnitKey(exit.position), exit]))
  const keys = new Set(
    arrived.flatMap(({ kind, position }) => (kind === 'liquidity' && position !== null ? toUnitKey(position) : [])),
  )
  const found = [...keys].flatMap((key) => (spent.exits.has(key) ? [] : (exitByKey.get(key) ?? [])))
  return found.filter((exit) => !hasHook(exit)).slice(0, WITHDRAWN_MAX)
}

/** True if a contract that may be hostile sees the withdrawal, besides its tokens. */
function hasHook({ steps, suspects = [] }: HoldingExit): boolean {
  return suspects.some((each) => steps.every(({ tokens }) => !tokens.includes(each)))
}

/** Wraps the native token, and sells to the pools. */
function createSaleStep(
  { token, amount, suspects }: Offer,
  { hops, traded, into }: { readonly hops: readonly SaleHop[]; readonly traded: Address; readonly into: Address },
): ExitStep {
  const wrap = { to: traded, data: DEPOSIT, value: amount }
  return {
    tokens: [token.address as Address, into],
    suspects,
    calls: [
      ...(token.address === traded ? [] : [wrap]),
      ...hops.map((hop, index) => ({
        to: hop.pool,
        data: '0x' as const,
        swap: {
          token: hop.token,
          isToken0: hop.isToken0,
          amount: index === 0 ? amount : undefined,
          limitX96: toLimit(hop),
        },
      })),
    ],
  }
}

function toLimit({ isToken0, sqrtPriceX96 }: SaleHop): bigint {
  if (isToken0) return maxBigint(ROOTS.least, (sqrtPriceX96 * LIMITS.least) / LIMITS.unit)
  return minBigint(ROOTS.greatest, (sqrtPriceX96 * LIMITS.most) / LIMITS.unit)
}

/** The token that pools have in place of a token: of the native one its wrapper. */
function toTraded(token: string, { nativeCurrency }: FinanceChain): Address {
  return token === zeroAddress ? (nativeCurrency?.wrapped ?? zeroAddress) : (token as Address)
}

/** What came of the call; `own_code`: it had to replace the wallet's own code, which might not sell so. */
type SaleOutcome = UnitOutcome | { readonly kind: 'own_code' }

function toSale(query: SaleQuery, plan: SalePlan, outcome: SaleOutcome | undefined): Sale {
  const { arrived, outside, into } = query
  const { offers, routes } = plan
  const sold = offers.map((offer) => toSoldToken(offer, plan, outcome))
  const total = sold.reduce((sum, { brings = 0n }) => sum + brings, sumOwn(arrived, into))
  const debts = [...new Set(outside.map(({ token }) => token))].map((token) => {
    const paidWith = token === into ? total : sumOwn(arrived, token)
    return { token, amount: sumAmounts(outside.filter((each) => each.token === token)) - paidWith }
  })
  const left = debts.find(({ token }) => token === into)?.amount ?? -total
  return {
    into,
    decimals: routes.decimals,
    price: routes.into?.price,
    brings: left < 0n ? -left : 0n,
    sold,
    owed: debts.filter(({ amount }) => amount > 0n),
  }
}

function toSoldToken(offer: Offer, plan: SalePlan, outcome: SaleOutcome | undefined): SoldToken {
  const { token, amount } = offer
  const sale = plan.sales.find((each) => each.offer === offer)
  const pools = sale?.hops.map(({ pool }) => pool) ?? []
  const refuse = (blockage: NonNullable<SoldToken['blockage']>): SoldToken => {
    return { token, amount, brings: undefined, pools, impact: undefined, blockage }
  }
  if (outcome?.kind === 'unsupported') return refuse({ reason: 'unsupported', detail: 'No endpoint executes the sale' })
  if (outcome?.kind === 'own_code')
    return refuse({ reason: 'unsupported', detail: 'The wallet has code of its own, and sales replace it' })
  if (plan.spent.tokens.has(token.address as Address)) return refuse(explainSale({ kind: 'too_costly' }))
  if (sale === undefined) return refuse({ reason: 'no_pool', detail: 'No pool of it leads to the other token' })
  if (outcome?.kind !== 'run')
    return refuse({ reason: 'too_costly', detail: 'Withdrawing and selling use up the gas of a call, or its time' })
  const loan = outcome.steps[plan.loans.get(token.address as Address) ?? -1]
  if (loan?.kind === 'too_costly' || loan?.kind === 'suspected') return refuse(explainSale(loan))
  if (loan !== undefined && loan.kind !== 'done')
    return refuse({ reason: 'unfunded', detail: 'No contract was found that lends what was withdrawn, to sell it' })
  const step = outcome.steps[sale.place]
  if (step?.kind !== 'done') return refuse(explainSale(step))
  const [, brings = 0n] = step.deltas
  const expected = computeAtPrice(amount, sale.hops)
  const impact = expected === 0n ? undefined : rational(expected - brings, expected)
  return { token, amount, brings, pools, impact }
}

/** What `UniswapV3Pool` and `TransferHelper` say: SPL, another sale has moved the pool too far already. */
const explain = explainBy({ TF: 'token_refuses', IIA: 'token_refuses', SPL: 'no_liquidity' })
/** The pool says that it is sold nothing: the pool before paid less than a unit. */
const NOTHING = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['AS'] })
/** Length of the two amounts that a pool answers, in hexadecimal. */
const AMOUNTS_LENGTH = 2 + 128

function explainSale(step: StepOutcome | undefined): NonNullable<SoldToken['blockage']> {
  if (step?.kind === 'suspected')
    return {
      reason: 'too_costly',
      detail: 'It is not sold, because a token that it depends on used up the gas of others',
    }
  if (step?.kind === 'too_costly') return { reason: 'too_costly', detail: 'Selling it uses up the gas of a call' }
  if (step?.kind !== 'reverted') return { reason: 'unsupported', detail: 'The balance of a token cannot be read' }
  const { reason } = step
  const refusal = explain(reason)
  if (reason === NOTHING) return { reason: 'too_little', detail: 'It is worth less than a unit' }
  if (refusal === 'no_liquidity' || reason.length === AMOUNTS_LENGTH)
    return { reason: 'no_liquidity', detail: 'Its pools do not buy so much above a tenth of their price' }
  return refusal === 'token_refuses'
    ? { reason: refusal, detail: 'A token refuses the transfer' }
    : { reason: 'unsupported', detail: `Its sale reverts for a reason that is not known: ${step.reason}` }
}

/**
 * What an amount is worth at the prices of pools, one after the other, before fees.
 *
 * @figure price_impact_percentage
 * @source v3-core `slot0().sqrtPriceX96` squared: `token1` for one unit of `token0`
 * @proof test/contract/portfolio/exit_sale_test.ts
 */
function computeAtPrice(amount: bigint, hops: readonly SaleHop[]): bigint {
  return hops.reduce((left, { isToken0, sqrtPriceX96 }) => {
    const square = sqrtPriceX96 * sqrtPriceX96
    return isToken0 ? (left * square) / Q192 : (left * Q192) / square
  }, amount)
}

/** Sums what arrives of a token, whatever it is but a debt. */
function sumOwn(arrived: readonly Row[], token: Address): bigint {
  return sumAmounts(arrived.filter((row) => row.token.address === token && row.kind !== 'borrowed'))
}

function sumAmounts(items: readonly { readonly amount: bigint }[]): bigint {
  return items.reduce((sum, { amount }) => sum + amount, 0n)
}
