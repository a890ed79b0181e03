import type { ComponentChildren } from 'preact'
import { shortenAddress } from '../../lib/address.ts'
import type { Answer, Failure } from '../../lib/api.ts'
import type { KaminoRisk, KaminoYield } from '../../lib/shapes.ts'
import { Copy } from '../../part/copy.tsx'
import { Change, DefinitionList, Multiple, Percent, Rate, Usd } from '../../part/figure.tsx'
import { EmptyState, LoadingNotice } from '../../part/notice.tsx'
import type { Context } from '../page.tsx'
import { AnswerSource } from '../receipt.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import type { Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { Gauge, safeRows } from './gauge.tsx'

interface CardProps {
  readonly family: string
  readonly place: string
  readonly kind: string
  readonly id: string
  readonly onRemove: () => void
  readonly children: ComponentChildren
}

/** Card of an added position, with a button that removes it. */
function Card({ family, place, kind, id, onRemove, children }: CardProps) {
  return (
    <article class="card market" aria-label={`${family}, ${kind} ${id}`}>
      <header>
        <h3>
          {family} <span class="soft">{place}</span>
        </h3>
        <p class="soft">
          <code title={id}>{shortenAddress(id)}</code>
          <Copy text={id} label="Copy the whole id" />
        </p>
        <button type="button" class="small remove" onClick={onRemove}>
          Remove
        </button>
      </header>
      {children}
    </article>
  )
}

/** Yield figures. */
function Yield({ data }: { data: KaminoYield }) {
  return (
    <>
      <DefinitionList
        rows={[
          ['Net yield a year', <Rate value={data.net_apy} />],
          ['Leverage', <Multiple value={data.position_leverage} />],
          ['Supply, weighted', <Rate value={data.weighted_supply_apy} />],
          ['Borrow, weighted', <Rate value={data.weighted_borrow_apy} />],
        ]}
      />
      <DefinitionList
        rows={[
          ['Earned a day', <Change value={data.daily_supply_interest_usd} />],
          ['Paid a day', <Usd value={data.daily_borrow_interest_usd} />],
          ['Net in a week', <Change value={data.projected_earnings.weekly} />],
          ['Net in a month', <Change value={data.projected_earnings.monthly} />],
          ['Net in a year', <Change value={data.projected_earnings.yearly} />],
        ]}
      />
      {data.incomplete.map(({ what, amount, why }) => (
        <p class="edge soft">
          Without {what}
          {amount && `, ${amount} of it`}: {why}
        </p>
      ))}
    </>
  )
}

interface Props {
  readonly parts: readonly RequestedPart[]
  readonly context: Context
  readonly onRemove: () => void
}

function toWatched({ chain_id, wallet, obligation_address, market_address, health_factor }: KaminoRisk): Watched {
  return {
    chainId: chain_id,
    family: 'kamino',
    subject: { wallet, obligation_address, market_address },
    name: `Kamino, obligation ${shortenAddress(obligation_address)}`,
    figure: 'health_factor',
    value: health_factor,
  }
}

/** Card of a Kamino obligation, from two answers: risk and yield. */
export function KaminoCard({ parts, context, onRemove }: Props) {
  const [risk, earned] = parts
  const id = risk?.id ?? ''
  const failed = parts.find(({ answer }) => answer?.ok === false)
  const data: KaminoRisk | undefined = risk?.answer?.ok ? getData(risk.answer) : undefined
  return (
    <Card family="Kamino" place="Solana" kind="obligation" id={id} onRemove={onRemove}>
      {failed === undefined && parts.some(({ answer }) => answer === undefined) && (
        <LoadingNotice>Reading Solana</LoadingNotice>
      )}
      {failed?.answer?.ok === false && <Problem failure={failed.answer} />}
      <div class="market-body">
        {data && (
          <>
            <Gauge
              healthFactor={data.health_factor}
              target={data.target_health_factor}
              due={data}
              bell={<TriggerBell watched={toWatched(data)} context={context} />}
            />
            <DefinitionList
              rows={[
                ['Loan to value', <Percent value={data.current_ltv_percentage} />],
                ['Liquidation LTV', <Rate value={data.risk_metrics.liquidationThreshold} />],
                ['Borrowing limit', <Usd value={data.risk_metrics.maxBorrowCapacityUSD} />],
                ['Borrowing limit used', <Rate value={data.risk_metrics.borrowUtilization} />],
              ]}
            />
            <DefinitionList
              rows={safeRows(data.target_health_factor, {
                borrow: data.safe_borrow_amount_usd,
                withdraw: data.safe_withdraw_amount_usd,
              })}
            />
          </>
        )}
      </div>
      {earned?.answer?.ok && (
        <div class="market-body two">
          <Yield data={getData(earned.answer)} />
        </div>
      )}
      {parts.map(({ answer }) => answer?.ok && <AnswerSource answer={answer} context={context} />)}
    </Card>
  )
}

function getData<Data>({ body }: Answer) {
  return (body as { data: Data }).data
}

/**
 * An empty result is not an error: the address may belong to another chain, or the position may be closed. `Notices` lists
 * the errors.
 */
function Problem({ failure }: { failure: Failure }) {
  if (failure.code !== 'NOT_FOUND') return <p class="soft">Not read.</p>
  return <EmptyState title="Nothing here">{failure.message}.</EmptyState>
}
