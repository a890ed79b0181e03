import * as v from 'valibot'
import { checksumAddress } from 'viem'
import { chainId, evmAddress, formatUsd, usdFigure as usd } from '../../../finance/figure.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { type Rational, toRational } from '../../../lib/number/rational.ts'
import {
  DECIMAL,
  named,
  nonNegativeInteger,
  pagination,
  text,
  UNSIGNED_INTEGER,
  withWords,
} from '../../../lib/text/text_format.ts'
import { FLOW_KINDS } from '../event/flow.ts'
import { type ValuedAmount, type ValuedFlow, valueAssets } from '../event/pnl.ts'
import type { PnlRead, VaultTokens } from '../read/history.ts'
import { presentAmount } from './present.ts'

const raw = withWords('Smallest units', text(UNSIGNED_INTEGER))
const amount = withWords('Whole tokens, all digits', text(DECIMAL))
const shares = v.pipe(v.strictObject({ raw, amount }), v.description('Shares of the vault'))
const usdOrNull = withWords('US dollars at the prices of the blocks; null if one is missing', v.nullable(usd))
const assets = v.pipe(v.strictObject({ raw, amount, usd: usdOrNull }), v.description('Of the token inside'))
const moved = (words: string) => v.pipe(v.strictObject({ shares, assets }), v.description(words))

const token = v.strictObject({
  address: withWords('Its contract', evmAddress),
  symbol: withWords('As the token itself tells it', v.string()),
  decimals: withWords('Digits of its smallest unit', nonNegativeInteger),
})

const event = named(
  'VaultEvent',
  'What changed the shares of a wallet in a vault',
  v.strictObject({
    type: v.pipe(
      v.picklist(FLOW_KINDS),
      v.description(
        'send, receive: shares moved without assets; penalty: a withdrawal that the vault paid to itself, not to the wallet',
      ),
    ),
    block_number: withWords('Its block', nonNegativeInteger),
    log_index: withWords('Place of its log in the block', nonNegativeInteger),
    timestamp: v.pipe(nonNegativeInteger, v.description('Unix seconds')),
    transaction_hash: withWords(
      'Its transaction',
      text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' }),
    ),
    shares,
    assets: v.pipe(
      assets,
      v.description('What came in or went out; of send and receive what the shares were worth at the end of the block'),
    ),
    price_usd: withWords('A whole token of the asset at the block; null if none is known', v.nullable(usd)),
    counterparty: v.pipe(
      evmAddress,
      v.description('Payer, receiver, or the other holder; the zero address for shares that were made or destroyed'),
    ),
  }),
)

/** Success body of the events, without `request_id`. */
export const eventsOutput = v.strictObject({ data: v.array(event), pagination })

const DIGITS_SIGNED = { pattern: /^-?\d+$/, words: 'integer in digits' }
const DECIMAL_SIGNED = { pattern: /^-?\d+(\.\d+)?$/, words: 'decimal' }

const pnl = named(
  'VaultProfitAndLoss',
  'What the shares of a wallet in a vault have brought; gas is not counted',
  v.strictObject({
    chain_id: chainId,
    wallet: withWords('The wallet', evmAddress),
    vault: v.pipe(token, v.description('The token of its shares')),
    asset: v.pipe(token, v.description('The token inside')),
    shares: v.pipe(shares, v.description('Shares of the wallet, which all its events add up to')),
    worth: v.pipe(assets, v.description('What they are worth now by the vault itself')),
    deposited: moved('All deposits for the wallet'),
    withdrawn: moved('All withdrawals, also into a silo; without penalties'),
    received: moved('Shares that came without a deposit, at their worth then'),
    sent: moved('Shares that left without a withdrawal, at their worth then'),
    penalties: moved('Withdrawals that the vault paid to itself: a loss'),
    pnl_raw: withWords(
      'worth + withdrawn + sent - deposited - received, in smallest units of the asset',
      text(DIGITS_SIGNED),
    ),
    pnl_amount: withWords('The same in whole tokens, all digits', text(DECIMAL_SIGNED)),
    pnl_usd: withWords(
      'The same in US dollars, each at the price of its block; null if one is missing',
      v.nullable(usd),
    ),
    usd_missing: withWords('Why figures in US dollars are null; null if none is', v.nullable(v.string())),
    is_closed: v.pipe(v.boolean(), v.description('No shares are left')),
  }),
)

/** Success body of profit and loss, without `request_id`. */
export const pnlOutput = v.strictObject({ data: pnl })

type PresentedEvent = v.InferOutput<typeof event>
type PresentedPnl = v.InferOutput<typeof pnl>

/**
 * An event as answers show it.
 *
 * @figure vaults/amount, price_usd
 * @source `Deposit` and `Withdraw` of ERC-4626; of shares that moved alone `convertToAssets` at the end of the block
 * @proof test/contract/family/vaults/history_test.ts
 */
export function presentEvent(flow: ValuedFlow, tokens: VaultTokens): PresentedEvent {
  const { kind, block, logIndex, timestampSec, transactionHash, price, counterparty } = flow
  const value = valueAssets(flow.assets, { decimals: tokens.asset.decimals, price })
  return {
    type: kind,
    block_number: block,
    log_index: logIndex,
    timestamp: timestampSec,
    transaction_hash: transactionHash,
    shares: presentAmount(flow.shares, tokens.vault.decimals),
    assets: presentAssets({ assets: flow.assets, usd: value }, tokens),
    price_usd: 'because' in price ? null : formatUsd(toRational(price)),
    counterparty: checksumAddress(counterparty),
  }
}

/** Profit and loss as answers show it. */
export function presentPnl(
  { tokens, shares: own, pnl: sums, block }: PnlRead,
  wallet: PresentedPnl['wallet'],
): PresentedPnl {
  const presentKind = (kind: (typeof FLOW_KINDS)[number]) => ({
    shares: presentAmount(sums[kind].shares, tokens.vault.decimals),
    assets: presentAssets(sums[kind], tokens),
  })
  return {
    chain_id: block.chainId,
    wallet,
    vault: presentToken(tokens.vault),
    asset: presentToken(tokens.asset),
    shares: presentAmount(own, tokens.vault.decimals),
    worth: presentAssets(sums.worth, tokens),
    deposited: presentKind('deposit'),
    withdrawn: presentKind('withdraw'),
    received: presentKind('receive'),
    sent: presentKind('send'),
    penalties: presentKind('penalty'),
    pnl_raw: String(sums.pnl.assets),
    pnl_amount: formatExact(sums.pnl.assets, tokens.asset.decimals),
    pnl_usd: formatOrNull(sums.pnl.usd),
    usd_missing: sums.missing ?? null,
    is_closed: own === 0n,
  }
}

function presentToken({ address, symbol, decimals }: VaultTokens['asset']) {
  return { address: checksumAddress(address), symbol, decimals }
}

function presentAssets({ assets: units, usd: value }: ValuedAmount, { asset }: VaultTokens) {
  return { ...presentAmount(units, asset.decimals), usd: formatOrNull(value) }
}

function formatOrNull(value: Rational | undefined): string | null {
  return value === undefined ? null : formatUsd(value)
}
