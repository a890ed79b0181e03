import { checksumAddress, isHex } from 'viem'
import type { DebtTerm } from '../family/holding.ts'
import { presentDue } from '../family/lending/due.ts'
import { formatHealthFactor, formatUsdE6 } from '../finance/figure.ts'
import { getConfidence } from '../finance/price/price.ts'
import { type Decimal, formatExact, formatFixed } from '../lib/number/decimal.ts'
import { compareRational, ONE } from '../lib/number/rational.ts'
import type { WalletAssets } from './read/read_wallet.ts'
import type { DaySnapshot } from './snapshots.ts'
import { findRowGap } from './sum/gap.ts'
import type { Row } from './sum/row.ts'
import type { Breakdown, Total } from './sum/total.ts'

/** What was read, and how positions were found if there may be others. */
interface Coverage {
  readonly found_by?: readonly { readonly complete: boolean }[]
}

/** Presents the sum of a wallet's rows. */
export function presentBalance(
  wallet: string,
  balance: Breakdown,
  { unread, coverage }: Pick<WalletAssets, 'unread'> & { readonly coverage: Coverage },
) {
  const { chains, confidencesE6, rows } = balance
  const { counted, unpriced, spam, others } = rows
  return {
    wallet,
    ...presentNet(balance),
    by_kind: presentKinds(balance),
    by_chain: chains.map(({ chainId, ...total }) => ({
      chain_id: chainId,
      ...presentNet(total),
      ...presentKinds(total),
    })),
    by_confidence: {
      oracle_usd: formatUsdE6(confidencesE6.oracle),
      derived_usd: formatUsdE6(confidencesE6.derived),
      assumed_usd: formatUsdE6(confidencesE6.assumed),
      market_usd: formatUsdE6(confidencesE6.market),
    },
    rows: { counted, unpriced, spam, other_reasons: others },
    complete: unread.length === 0 && (coverage.found_by ?? []).every(({ complete }) => complete),
    unread: unread.map(({ chainId, because }) => ({ chain_id: chainId, because })),
    coverage,
  }
}

/** Presents the value of a wallet at a midnight. */
export function presentSnapshot(snapshot: DaySnapshot) {
  const { timestampSec, blockNumber, netWorthUsd, assetsUsd, debtUsd, walletUsd, liquidityUsd, suppliedUsd } = snapshot
  return {
    timestamp: timestampSec,
    block_number: Number(blockNumber),
    net_worth_usd: netWorthUsd,
    assets_usd: assetsUsd,
    debt_usd: debtUsd,
    wallet_usd: walletUsd,
    liquidity_usd: liquidityUsd,
    supplied_usd: suppliedUsd,
    borrowed_usd: debtUsd,
    unpriced: snapshot.unpriced,
    incomplete: snapshot.gaps,
  }
}

/**
 * Presents a row. Its amount is in whole tokens: raw units ÷ 10^decimals, all digits.
 *
 * @figure assets/amount
 * @source ERC-20 `decimals`; the mint's `decimals` on Solana
 * @proof test/contract/portfolio/random_test.ts, test/contract/portfolio/solana/random_test.ts
 */
export function presentRow(row: Row) {
  const { chainId, kind, token, amount, price, marks, verdict, rest, withdrawal, position, frozenAmount, slot } = row
  const { term, isCollateral } = row
  const gap = findRowGap(row)
  const { decimals } = token
  return {
    chain_id: chainId,
    kind,
    token: presentToken(token),
    amount: presentAmount(amount, decimals),
    price_usd: price === undefined ? null : formatExact(price.units, price.scale),
    price_source: price?.source ?? null,
    price_confidence: price === undefined ? null : getConfidence(price),
    price_chain_id: price?.chainId ?? null,
    price_marks: [...marks],
    value_usd: verdict.counted ? formatE6(verdict.value) : null,
    counted: verdict.counted,
    reason: verdict.counted ? null : verdict.reason,
    detail: verdict.counted ? null : verdict.detail,
    not_counted:
      rest === undefined
        ? null
        : {
            ...presentAmount(rest.raw, decimals),
            usd: rest.value === undefined ? null : formatE6(rest.value),
            reason: rest.reason,
          },
    withdrawable: presentWithdrawal(withdrawal, decimals),
    limited_by: withdrawal?.limitedBy ?? null,
    incomplete: gap === undefined ? [] : [gap],
    position,
    ...(term === undefined ? {} : presentTerm(term)),
    ...(isCollateral === undefined ? {} : { is_collateral: isCollateral }),
    ...(frozenAmount === amount ? { frozen: true } : {}),
    ...(frozenAmount === undefined ? {} : { frozen_amount: presentAmount(frozenAmount, decimals) }),
    ...(slot === undefined ? {} : { slot: slot.toString() }),
  }
}

/** Presents when a debt falls due, and whether it is safe. */
function presentTerm({ dueAtSec, isOverdue, healthFactor, liquidatableBecause }: DebtTerm) {
  return {
    ...presentDue({ liquidatableBecause, dueAtSec }),
    is_overdue: isOverdue,
    is_healthy: healthFactor === undefined ? null : compareRational(healthFactor, ONE) >= 0,
    health_factor: healthFactor === undefined ? null : formatHealthFactor(healthFactor),
  }
}

/** Presents a token. */
export function presentToken({ address, symbol, name, decimals }: Row['token']) {
  return { id: formatTokenId(address), symbol, decimals: decimals ?? null, name }
}

function presentWithdrawal(withdrawal: Row['withdrawal'], decimals: number | undefined) {
  const { raw, value } = withdrawal ?? {}
  if (raw === undefined) return null
  return { ...presentAmount(raw, decimals), usd: value === undefined ? null : formatE6(value) }
}

function formatTokenId(address: string): string {
  return isHex(address) ? checksumAddress(address) : address
}

/** Presents an amount in smallest units and in whole tokens. */
export function presentAmount(raw: bigint, decimals: number | undefined) {
  return { raw: String(raw), amount: decimals === undefined ? null : formatExact(raw, decimals) }
}

function formatE6({ units, scale }: Decimal): string {
  return formatFixed(units, { scale, digits: 6 })
}

function presentNet({ netE6, assetsE6, debtE6, gaps }: Omit<Total, 'kindsE6'>) {
  return {
    net_worth_usd: netE6 === undefined ? null : formatUsdE6(netE6),
    assets_usd: formatUsdE6(assetsE6),
    debt_usd: formatUsdE6(debtE6),
    incomplete: gaps.map((gap) => ({ ...gap })),
  }
}

function presentKinds({ kindsE6: { wallet, liquidity, supplied, borrowed } }: Total) {
  return {
    wallet_usd: formatUsdE6(wallet),
    liquidity_usd: formatUsdE6(liquidity),
    supplied_usd: formatUsdE6(supplied),
    borrowed_usd: formatUsdE6(borrowed),
  }
}
