import { type Address, type Hex, zeroAddress } from 'viem'
import { decodeAddress, decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import type { Lender } from '../../../../../src/family/aave_v3/math/state.ts'
import type { RawMarket } from '../../../../../src/family/aave_v3/read/abi.ts'
import { type CallResult, hasAnswer } from '../../../../support/staged/multicall.ts'
import type { Answer, Round } from './round.ts'
import { SELECTOR } from './words.ts'

/** The most reserves that a pool can have, because bitmaps hold them. */
const RESERVES_MAX = 128
/** Words that `getReserveData` answers in every version. */
const RESERVE_DATA_WORDS = 15

/** A reserve of a market and what `getReserveData` says of it. */
export interface StagedReserve {
  readonly asset: Address
  readonly data: Hex
  readonly id: number
  readonly supplyToken: Address
  readonly stableDebtToken: Address
  readonly variableDebtToken: Address
}

/** A market as it was asked for; without reserves if it does not answer. */
export interface StagedMarket extends RawMarket, Contracts {
  readonly reserves: readonly StagedReserve[]
}

interface Contracts {
  readonly pool: Address
  readonly oracle: Address
  /** The zero address without one. */
  readonly sentinelAddress: Address
}

const SILENT: StagedMarket = {
  answered: false,
  unit: 0n,
  features: { liquidEModes: false, zeroLtvEModes: false, isolatedEModes: false },
  sentinel: { refusesLoans: false, delaysLiquidations: false },
  lenders: [],
  pool: zeroAddress,
  oracle: zeroAddress,
  sentinelAddress: zeroAddress,
  reserves: [],
}

/** Markets behind their address providers, in three rounds. */
export async function readMarkets(providers: readonly Address[], begin: () => Round): Promise<StagedMarket[]> {
  const contracts = await readContracts(providers, begin())
  const round = begin()
  const asked = contracts.map((each) => (each === undefined ? undefined : askMarket(each, round)))
  await round.run()
  const markets = asked.map((answers) => (answers === undefined ? undefined : toMarket(answers)))
  const last = begin()
  const data = markets.map((each) =>
    each?.assets.map((asset) => last.call(each.pool, encodeCall(SELECTOR.getReserveData, asset))),
  )
  await last.run()
  return markets.map((each, at) => {
    const reserves = each?.assets.map((asset, index) => toReserve(asset, data[at]?.[index]?.()))
    if (each === undefined || reserves === undefined || reserves.includes(undefined)) return SILENT
    const { assets: _, ...market } = each
    const listed = reserves.filter((reserve) => reserve !== undefined)
    return { ...market, reserves: listed, lenders: listed.flatMap(toLenders) }
  })
}

async function readContracts(providers: readonly Address[], round: Round): Promise<(Contracts | undefined)[]> {
  const answers = providers.map((provider) => ({
    pool: round.call(provider, SELECTOR.getPool),
    oracle: round.call(provider, SELECTOR.getPriceOracle),
    sentinel: round.call(provider, SELECTOR.getPriceOracleSentinel),
  }))
  await round.run()
  return answers.map(({ pool, oracle, sentinel }) => {
    if (!hasAnswer(pool(), 1) || !hasAnswer(oracle(), 1)) return undefined
    const sentinelAddress = hasAnswer(sentinel(), 1) ? decodeAddress(sentinel().data, 0) : zeroAddress
    return { pool: decodeAddress(pool().data, 0), oracle: decodeAddress(oracle().data, 0), sentinelAddress }
  })
}

interface MarketAnswers extends Contracts {
  readonly borrows: Answer
  readonly liquidates: Answer
  readonly currency: Answer
  readonly unit: Answer
  readonly list: Answer
  readonly liquid: Answer
  readonly zeroLtv: Answer
  readonly isolated: Answer
}

function askMarket({ pool, oracle, sentinelAddress }: Contracts, round: Round): MarketAnswers {
  return {
    pool,
    oracle,
    sentinelAddress,
    borrows: round.call(sentinelAddress, SELECTOR.isBorrowAllowed),
    liquidates: round.call(sentinelAddress, SELECTOR.isLiquidationAllowed),
    currency: round.call(oracle, SELECTOR.baseCurrency),
    unit: round.call(oracle, SELECTOR.baseCurrencyUnit),
    list: round.call(pool, SELECTOR.getReservesList),
    liquid: round.call(pool, encodeCall(SELECTOR.getEModeCategoryCollateralBitmap, 0n)),
    zeroLtv: round.call(pool, encodeCall(SELECTOR.getEModeCategoryLtvzeroBitmap, 0n)),
    isolated: round.call(pool, encodeCall(SELECTOR.getIsEModeCategoryIsolated, 0n)),
  }
}

function toMarket(
  answers: MarketAnswers,
): (Omit<StagedMarket, 'reserves' | 'lenders'> & { assets: Address[] }) | undefined {
  const [currency, unit, list] = [answers.currency(), answers.unit(), answers.list()]
  if (!hasAnswer(currency, 1) || decodeWord(currency.data, 0) !== 0n || !hasAnswer(unit, 1)) return undefined
  const perUsd = decodeWord(unit.data, 0)
  if (perUsd === 0n || perUsd >= 1n << 128n || !hasAnswer(list, 2)) return undefined
  const count = decodeWord(list.data, 1)
  if (count > RESERVES_MAX || !hasAnswer(list, 2 + Number(count))) return undefined
  return {
    answered: true,
    unit: perUsd,
    features: {
      liquidEModes: hasAnswer(answers.liquid(), 1),
      zeroLtvEModes: hasAnswer(answers.zeroLtv(), 1),
      isolatedEModes: hasAnswer(answers.isolated(), 1),
    },
    pool: answers.pool,
    oracle: answers.oracle,
    sentinelAddress: answers.sentinelAddress,
    sentinel: {
      refusesLoans: answers.sentinelAddress !== zeroAddress && !isTrue(answers.borrows()),
      delaysLiquidations: answers.sentinelAddress !== zeroAddress && !isTrue(answers.liquidates()),
    },
    assets: Array.from({ length: Number(count) }, (_, index) => decodeAddress(list.data, 2 + index)),
  }
}

function isTrue(answer: CallResult): boolean {
  return hasAnswer(answer, 1) && decodeWord(answer.data, 0) !== 0n
}

/** The reserve as one that may lend; nothing if it is inactive, paused or frozen. */
function toLenders({ id, data }: StagedReserve): Lender[] {
  const configuration = decodeWord(data, 0)
  const bit = (at: bigint): boolean => ((configuration >> at) & 1n) === 1n
  if (!bit(56n) || bit(57n) || bit(60n)) return []
  const legacyCategory = Number((configuration >> 168n) & 0xffn)
  return [{ id, isEnabled: bit(58n), isEnabledInIsolation: bit(61n), isSiloed: bit(62n), legacyCategory }]
}

function toReserve(asset: Address, answer: CallResult | undefined): StagedReserve | undefined {
  if (answer === undefined || !hasAnswer(answer, RESERVE_DATA_WORDS)) return undefined
  const { data } = answer
  return {
    asset,
    data,
    id: Number(decodeWord(data, 7) & 0xffffn),
    supplyToken: decodeAddress(data, 8),
    stableDebtToken: decodeAddress(data, 9),
    variableDebtToken: decodeAddress(data, 10),
  }
}
