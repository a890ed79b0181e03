import { expect, test } from 'bun:test'
import { base58 } from '@scure/base'
import {
  ACCOUNT_KINDS,
  decodeMarket,
  decodeObligation,
  decodeReserve,
  decodeTicket,
} from '../../../../src/family/kamino/read/accounts/layout.ts'
import { type Field, KLEND_LAYOUT } from './klend_layout.ts'

/** A decoder, and the property that each field of the interface becomes; of an order or a status, what it decides. */
interface Decoder {
  readonly size: number
  readonly decode: (data: Uint8Array) => object
  readonly properties: Readonly<Record<string, string>>
}

const DECODERS: Readonly<Record<string, Decoder>> = {
  Obligation: {
    size: ACCOUNT_KINDS.obligation.size,
    decode: decodeObligation,
    properties: {
      'lastUpdate.slot': 'lastUpdateSlot',
      lendingMarket: 'market',
      owner: 'owner',
      'deposits[].depositReserve': 'deposits[].reserve',
      'deposits[].depositedAmount': 'deposits[].collateralAmount',
      'deposits[].borrowedAmountAgainstThisCollateralInElevationGroup': 'deposits[].groupBorrowed',
      'borrows[].borrowReserve': 'borrows[].reserve',
      'borrows[].cumulativeBorrowRateBsf.value': 'borrows[].cumulativeRateSf',
      'borrows[].lastBorrowedAtTimestamp': 'borrows[].borrowedAtSec',
      'borrows[].borrowedAmountSf': 'borrows[].amountSf',
      'borrows[].borrowedAmountOutsideElevationGroups': 'borrows[].countedOutsideGroups',
      elevationGroup: 'elevationGroup',
      borrowingDisabled: 'borrowingDisabled',
      autodeleverageTargetLtvPct: 'deleveraging.targetLtvPct',
      autodeleverageMarginCallStartedTimestamp: 'deleveraging.startedAtSec',
      'obligationOrders[].conditionThresholdSf': 'orders[].thresholdSf',
      'obligationOrders[].conditionType': 'orders[].condition',
      'obligationOrders[].opportunityType': 'orders[].action',
      'obligationOrders[].maxBorrowRateBps': 'orders[].action',
    },
  },
  Reserve: {
    size: ACCOUNT_KINDS.reserve.size,
    decode: decodeReserve,
    properties: {
      version: 'layoutVersion',
      'lastUpdate.slot': 'lastUpdateSlot',
      'lastUpdate.priceStatus': 'priceStatus',
      'lastUpdate.timestamp': 'lastUpdateTimestampSec',
      lendingMarket: 'market',
      'liquidity.mintPubkey': 'mint',
      'liquidity.totalAvailableAmount': 'availableAmount',
      'liquidity.borrowedAmountSf': 'borrowedSf',
      'liquidity.marketPriceSf': 'priceSf',
      'liquidity.marketPriceLastUpdatedTs': 'priceTimestampSec',
      'liquidity.mintDecimals': 'decimals',
      'liquidity.depositLimitCrossedTimestamp': 'depositLimitCrossedAtSec',
      'liquidity.borrowLimitCrossedTimestamp': 'borrowLimitCrossedAtSec',
      'liquidity.cumulativeBorrowRateBsf.value': 'cumulativeRateSf',
      'liquidity.accumulatedProtocolFeesSf': 'protocolFeesSf',
      'liquidity.accumulatedReferrerFeesSf': 'referrerFeesSf',
      'liquidity.pendingReferrerFeesSf': 'pendingReferrerFeesSf',
      'liquidity.rewardsAmountAvailable': 'rewardsAvailable',
      'collateral.mintTotalSupply': 'collateralSupply',
      'config.status': 'isActive',
      'config.hostFixedInterestRateBps': 'hostFixedRateBps',
      'config.emergencyMode': 'emergencyMode',
      'config.protocolTakeRatePct': 'protocolTakeRatePct',
      'config.loanToValuePct': 'maxLtvPct',
      'config.liquidationThresholdPct': 'liquidationThresholdPct',
      'config.deleveragingMarginCallPeriodSecs': 'deleveraging.marginCallSec',
      'config.deleveragingThresholdDecreaseBpsPerDay': 'deleveraging.thresholdFallBpsPerDay',
      'config.borrowRateCurve.points[].utilizationRateBps': 'curve[].utilizationBps',
      'config.borrowRateCurve.points[].borrowRateBps': 'curve[].rateBps',
      'config.borrowFactorPct': 'borrowFactorPct',
      'config.depositLimit': 'depositLimit',
      'config.borrowLimit': 'borrowLimit',
      'config.tokenInfo.name': 'symbol',
      'config.tokenInfo.heuristic.lower': 'priceBounds.lower',
      'config.tokenInfo.heuristic.upper': 'priceBounds.upper',
      'config.tokenInfo.heuristic.exp': 'priceBounds.exponent',
      'config.tokenInfo.maxTwapDivergenceBps': 'averageCheck.toleranceBps',
      'config.tokenInfo.maxAgePriceSeconds': 'maxPriceAgeSec',
      'config.tokenInfo.maxAgeTwapSeconds': 'averageCheck.maxAgeSec',
      'config.tokenInfo.scopeConfiguration.priceFeed': 'scopeFeed',
      'config.tokenInfo.scopeConfiguration.priceChain[]': 'scopeChain[]',
      'config.tokenInfo.scopeConfiguration.twapChain[]': 'averageChain[]',
      'config.tokenInfo.blockPriceUsage': 'priceBlocked',
      'config.depositWithdrawalCap.configCapacity': 'withdrawalCap.capacity',
      'config.depositWithdrawalCap.currentTotal': 'withdrawalCap.spent',
      'config.depositWithdrawalCap.lastIntervalStartTimestamp': 'withdrawalCap.startedAtSec',
      'config.depositWithdrawalCap.configIntervalLengthSeconds': 'withdrawalCap.intervalSec',
      'config.debtWithdrawalCap.configCapacity': 'borrowCap.capacity',
      'config.debtWithdrawalCap.currentTotal': 'borrowCap.spent',
      'config.debtWithdrawalCap.lastIntervalStartTimestamp': 'borrowCap.startedAtSec',
      'config.debtWithdrawalCap.configIntervalLengthSeconds': 'borrowCap.intervalSec',
      'config.elevationGroups[]': 'groups[]',
      'config.disableUsageAsCollOutsideEmode': 'backsDebtInGroupsOnly',
      'config.utilizationLimitBlockBorrowingAbovePct': 'utilizationLimitPct',
      'config.autodeleverageEnabled': 'deleveraging.isEnabled',
      'config.borrowLimitOutsideElevationGroup': 'borrowLimitOutsideGroups',
      'config.borrowLimitAgainstThisCollateralInElevationGroup[]': 'groupLimits[]',
      'config.debtMaturityTimestamp': 'debtMaturitySec',
      'config.debtTermSeconds': 'debtTermSec',
      'config.rewardsAmountPerSlot': 'rewardsPerUnit',
      borrowedAmountOutsideElevationGroup: 'borrowedOutsideGroups',
      'borrowedAmountsAgainstThisReserveInElevationGroups[]': 'groupBorrowed[]',
      'withdrawQueue.queuedCollateralAmount': 'queuedCollateral',
      'withdrawQueue.nextWithdrawableTicketSequenceNumber': 'nextTicket',
      'config.interestRateBasis': 'accrualUnit',
      'config.permissionedOps': 'permissions.others',
    },
  },
  LendingMarket: {
    size: ACCOUNT_KINDS.market.size,
    decode: decodeMarket,
    properties: {
      version: 'layoutVersion',
      referralFeeBps: 'referralFeeBps',
      emergencyMode: 'isEmergency',
      autodeleverageEnabled: 'isDeleveragingEnabled',
      borrowDisabled: 'isBorrowingDisabled',
      globalAllowedBorrowValue: 'borrowCapUsd',
      'elevationGroups[].id': 'elevationGroups[].id',
      'elevationGroups[].ltvPct': 'elevationGroups[].maxLtvPct',
      'elevationGroups[].liquidationThresholdPct': 'elevationGroups[].liquidationThresholdPct',
      'elevationGroups[].allowNewLoans': 'elevationGroups[].allowsNewLoans',
      'elevationGroups[].debtReserve': 'elevationGroups[].debtReserve',
      minNetValueInObligationSf: 'leastValueSf',
      name: 'name',
      individualAutodeleverageMarginCallPeriodSecs: 'deleveragingMarginCallSec',
      obligationOrderExecutionEnabled: 'areOrdersExecuted',
      priceTriggeredLiquidationDisabled: 'isPriceLiquidationDisabled',
      matureReserveDebtLiquidationEnabled: 'isMaturityLiquidationEnabled',
      obligationBorrowDebtTermLiquidationEnabled: 'isTermLiquidationEnabled',
      withdrawTicketRedemptionEnabled: 'paysTickets',
      reserveRewardsMaxAprBps: 'rewardsMaxAprBps',
      permissionedOps: 'permissions.others',
    },
  },
  WithdrawTicket: {
    size: ACCOUNT_KINDS.ticket.size,
    decode: decodeTicket,
    properties: {
      sequenceNumber: 'sequence',
      owner: 'owner',
      reserve: 'reserve',
      queuedCollateralAmount: 'collateralAmount',
      invalid: 'isInvalid',
    },
  },
}

/** Fields of which no entry is free in the account that is changed, so that each keeps its place in a list. */
const USED = [
  'deposits[].depositReserve',
  'deposits[].depositedAmount',
  'borrows[].borrowReserve',
  'borrows[].borrowedAmountSf',
  'config.elevationGroups[]',
  'config.tokenInfo.name',
]
const LETTER = 'A'.charCodeAt(0)
/** An opportunity whose meaning depends on the highest rate of its order. */
const OPPORTUNITY = ['obligationOrders[].opportunityType', 1] as const

/** Lists where each copy of a field is. */
function listPlaces([, at, , [count, distance] = [1, 0]]: Field): readonly number[] {
  return Array.from({ length: count }, (_, index) => at + index * distance)
}

/** Bytes that no other field has: ascending, so that a field read too early, too late or too short differs. */
function fillBytes(name: string, size: number): readonly number[] {
  if (size === 1) return [3]
  const first = name.toLowerCase().endsWith('name') ? LETTER : 1
  return Array.from({ length: size }, (_, index) => first + (index % 26))
}

function createAccount(fields: readonly Field[], size: number): Uint8Array {
  const data = new Uint8Array(size)
  for (const field of fields) {
    const [name, , length] = field
    const byte = name === OPPORTUNITY[0] ? OPPORTUNITY[1] : USED.includes(name) ? LETTER + 1 : 0
    for (const at of listPlaces(field)) data.fill(byte, at, at + length)
  }
  return data
}

/** Lists the properties of a decoded account, with their values, by path. */
function listProperties(value: unknown, path = ''): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null) return new Map([[path, value]])
  return new Map(
    Object.entries(value).flatMap(([key, each]) => {
      const name = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      return [...listProperties(each, name)]
    }),
  )
}

function toNumber(bytes: readonly number[]): bigint {
  return bytes.reduceRight((number, byte) => number * 256n + BigInt(byte), 0n)
}

const rows = Object.entries(DECODERS).flatMap(([account, decoder]) =>
  (KLEND_LAYOUT[account]?.fields ?? [])
    .filter(([name]) => decoder.properties[name] !== undefined)
    .map((field) => [account, field[0], field] as const),
)

test.each(rows)('%s %s stands where the program has it', (account, name, field) => {
  const { decode, size, properties } = DECODERS[account] as Decoder
  const before = createAccount(KLEND_LAYOUT[account]?.fields ?? [], size)
  const beforeProperties = listProperties(decode(before))
  const bytes = fillBytes(name, field[2])
  for (const [index, at] of listPlaces(field).entries()) {
    const data = Uint8Array.from(before)
    data.set(bytes, at)
    const changed = [...listProperties(decode(data))].filter(([path, value]) => beforeProperties.get(path) !== value)
    const [, value] = changed[0] ?? []
    expect(changed.map(([path]) => path)).toEqual([(properties[name] ?? '').replace('[]', `[${index}]`)])
    if (typeof value === 'bigint') expect(value).toBe(toNumber(bytes))
    if (typeof value === 'number') expect(value).toBe(Number(toNumber(bytes)))
    if (field[2] === 32 && typeof value === 'string' && !name.toLowerCase().endsWith('name'))
      expect(value).toBe(base58.encode(Uint8Array.from(bytes)))
  }
})

/** What the same bytes as another property decide, or what another test reads. */
const ALSO_READ: Readonly<Record<string, readonly string[]>> = {
  Reserve: ['isObsolete', 'permissions.loans'],
  LendingMarket: ['permissions.loans'],
}

test.each(Object.entries(DECODERS))(
  'every property of %s is a field of the program',
  (account, { decode, ...rest }) => {
    const { fields = [], size } = KLEND_LAYOUT[account] ?? {}
    expect(rest.size).toBe(size as number)
    const read = [...listProperties(decode(createAccount(fields, rest.size))).keys()]
    const known = [...Object.values(rest.properties), ...(ALSO_READ[account] ?? [])]
    expect([...new Set(read.map((path) => path.replace(/\[\d+\]/, '[]')))].toSorted()).toEqual(
      [...new Set(known)].toSorted(),
    )
  },
)
