import type { Liquidity } from '../../lib/catalog.ts'
import { isNegative, sumDollars } from '../../lib/decimal.ts'
import type { Position, ProfitAndLoss } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { useEffect } from '../../lib/view.ts'
import { Change, DefinitionList, Percent, Usd } from '../../part/figure.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.tsx'

/**
 * Texts for an answer without profit and loss, by `pnl_status`. The service already waited for the history, so the page
 * requests it again only on a click.
 */
const NOT_READY: Record<string, { message: string; verb: string; terms: string }> = {
  pending: {
    message: "Profit and loss is still being worked out: the position's history is being read.",
    verb: 'Wait for it',
    terms: 'once it is there',
  },
  unpriced: {
    message: 'Profit and loss cannot be worked out: a price is missing.',
    verb: 'Ask again',
    terms: 'if it can',
  },
  failed: { message: 'Profit and loss could not be worked out.', verb: 'Ask why', terms: 'if it now can' },
}

/**
 * Returns true if the hook of a position's pool may change what is paid when liquidity is added or removed. No log contains
 * that, so the service has neither flows nor profit and loss of the position.
 */
export function lacksHistory({ position_state: { pool } }: Pick<Position, 'position_state'>) {
  return pool.hooks?.permissions.some((name) => /LiquidityReturnsDelta$/.test(name)) ?? false
}

interface ProfitAndLossProps {
  readonly position: Position
  readonly served: Liquidity
  readonly context: Context
  /** Called with requested figures. */
  readonly onFigures: (pnl: ProfitAndLoss) => void
}

/** Profit and loss of a position: from the answer, else the reason why it is missing and a button that requests it. */
export function PositionProfit({
  position,
  served: { protocol, pnl, credits },
  context,
  onFigures,
}: ProfitAndLossProps) {
  const { key, view, paid } = context
  const query = formatQuery({
    chain_id: position.chain_id,
    manager_address: position.manager_address,
    ...(position.is_active ? {} : { status: 'inactive' }),
    ...(view.asOf === '' ? {} : { at_time: view.asOf }),
  })
  const path = `v1/positions/${protocol}/${position.token_id}/pnl?${query}`
  const { message, verb = 'Profit and loss', terms = '' } = NOT_READY[position.pnl_status ?? ''] ?? {}
  // Poll while the history is being read; a missing price does not appear by waiting.
  const isExpected = message === undefined || position.pnl_status === 'pending'
  const { isPressed, press } = usePress(context, [path])
  const request = usePolledAnswer<{ data: ProfitAndLoss }>(isPressed ? path : undefined, key, {
    paid,
    ...(!isExpected && { attemptsMax: 1 }),
  })
  if (position.pnl) return <Figures pnl={position.pnl} />
  if (!pnl) return null
  if (lacksHistory(position))
    return (
      <p class="soft">
        No dates, flows, profit and loss: the pool's hook may change what is paid, which no log contains.
      </p>
    )
  if (isPressed)
    return (
      <PolledAnswer
        request={request}
        what="Profit and loss"
        render={({ body }) => <Figures pnl={body.data} onFigures={onFigures} />}
        context={context}
      />
    )
  return (
    <p class="more">
      {message && <span class="soft">{message}</span>}
      <Offer
        price={`${pluralize(position.is_active ? credits.pnl : credits.pnlOfClosed, 'credit')} ${terms}`.trim()}
        onPress={press}
      >
        {verb}
      </Offer>
    </p>
  )
}

interface FiguresProps {
  readonly pnl: ProfitAndLoss
  readonly onFigures?: (pnl: ProfitAndLoss) => void
}

function Figures({ pnl, onFigures }: FiguresProps) {
  useEffect(() => onFigures?.(pnl), [pnl])
  const negate = (text: string) => (text.startsWith('-') ? text.slice(1) : `-${text}`)
  const fees = sumDollars([pnl.net_impermanent_loss, negate(pnl.pure_impermanent_loss)])
  const components = [
    ['Deposit prices', pnl.market_pnl_usd_value],
    ['Fees earned', fees],
    ['Divergence', pnl.pure_impermanent_loss],
  ]
  return (
    <div class="pnl">
      <p class="pnl-total">
        Profit and loss{' '}
        <b>
          <Change value={pnl.pnl_usd_value} />
        </b>{' '}
        <Percent value={pnl.pnl_percentage} />
      </p>
      <Parts rows={components} />
      <DefinitionList
        rows={[
          ['Realized', <Change value={pnl.realized_usd_value} />],
          ['Unrealized', <Change value={pnl.unrealized_usd_value} />],
          ['Holding instead', <Usd value={pnl.hodl_gross_benchmark_usd_value} />],
          ['Against holding', <Change value={pnl.alpha_vs_hodl_gross_usd_value} />],
          ['Average capital', <Usd value={pnl.time_weighted_average_capital} />],
          [
            <>
              <a href="formulas#fee_apr">Fee APR</a> since opening
            </>,
            pnl.fee_apr === null ? (
              <span class="absent">no rate: less than a day</span>
            ) : (
              <Percent value={pnl.fee_apr} />
            ),
          ],
        ]}
      />
    </div>
  )
}

/** Components of a profit as bars on both sides of zero. */
function Parts({ rows }: { rows: readonly string[][] }) {
  const widest = Math.max(...rows.map(([, value = '0']) => Math.abs(Number(value))), 1e-6)
  return (
    <dl class="bars">
      {rows.map(([name, value = '0']) => (
        <div>
          <dt class="soft">{name}</dt>
          <dd>
            <svg class="bar-picture" viewBox="-100 0 200 10" preserveAspectRatio="none" aria-hidden="true">
              <rect
                class={isNegative(value) ? 'bad' : 'good'}
                x={Math.min(0, (Number(value) / widest) * 100)}
                y="1"
                width={Math.abs((Number(value) / widest) * 100)}
                height="8"
              />
              <line x1="0" x2="0" y1="0" y2="10" />
            </svg>
            <Change value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
