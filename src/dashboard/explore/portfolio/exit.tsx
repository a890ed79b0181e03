import { chainName } from '../../lib/catalog.ts'
import { isPositive } from '../../lib/decimal.ts'
import type { PortfolioExit } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { Disclosure } from '../../part/disclosure.tsx'
import { Amount, DefinitionList, TokenSymbol, Usd } from '../../part/figure.tsx'
import { nameColumn, Table, textColumn } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.tsx'

type Exit = PortfolioExit['data']

type Row = Exit['rows'][number]

/**
 * What the wallet would get if it left a chain at the moment of the view. Executed on a click, because it costs credits.
 */
export function WalletExit({ chainId, context }: { chainId: number; context: Context }) {
  const { catalog, view, key } = context
  const past: Record<string, string> = view.asOf === '' ? {} : { at_time: view.asOf }
  const path = `v1/portfolio/exit?${formatQuery({ wallet: view.wallet, chain_id: chainId, ...past })}`
  const { isPressed, press } = usePress(context, [path])
  const request = usePolledAnswer<PortfolioExit>(isPressed ? path : undefined, key, context)
  const name = chainName(catalog, chainId)
  const title = view.asOf === '' ? `If you left ${name} now` : `If you had left ${name} then`
  if (!isPressed)
    return (
      <p class="more">
        <Offer price={pluralize(catalog.credits.exit, 'credit')} onPress={press}>
          {title}
        </Offer>
      </p>
    )
  return (
    <article class="card exit" aria-label={title}>
      <h3>{title}</h3>
      <PolledAnswer
        request={request}
        what="The exit"
        context={context}
        render={({ body }) => <Outcome exit={body.data} />}
      />
    </article>
  )
}

function Outcome({ exit }: { exit: Exit }) {
  const { rows, outside, own_money: own, walked_away_usd: left } = exit
  const { arriving, blocked, lacking, valueless } = sortRows(rows)
  return (
    <>
      <DefinitionList
        rows={[
          ['Arrives', <Usd value={exit.arrives_usd} />],
          ['Counted in the net worth', <Usd value={exit.book_usd} />],
          ['Of it blocked', <Usd value={exit.blocked_usd} />],
          ...(isPositive(left) ? [['Left behind, owing more than it owns, by', <Usd value={left} />] as const] : []),
        ]}
      />
      {!exit.complete && <p class="notice trouble">{formatDoubt(exit)}</p>}
      {blocked.length > 0 && (
        <div class="as-table">
          <h4>Blocked: {pluralize(blocked.length, 'row')}</h4>
          <Blocked rows={blocked} />
        </div>
      )}
      {lacking.length > 0 && (
        <>
          <h4>Money that is lacking</h4>
          <p>No contract was found that lends it: {joinAmounts(lacking)}.</p>
        </>
      )}
      {outside.length > 0 && (
        <>
          <h4>Money from elsewhere</h4>
          <p>
            Debts are repaid first, with {joinAmounts(outside)} that the wallet must have for the moment, and that is
            subtracted.
          </p>
        </>
      )}
      {own !== null && (
        <>
          <h4>With your own money</h4>
          <p>
            Without money from elsewhere <Usd value={own.arrives_usd} /> arrives. {own.detail ?? 'Nothing is lacking'}
            {own.lacking !== null && own.lacking.length > 0 ? ' besides, and all of it does' : ''}.
          </p>
        </>
      )}
      {arriving.length > 0 && (
        <Disclosure
          class="as-table"
          title={`${pluralize(arriving.length, 'row')} that ${arriving.length === 1 ? 'arrives' : 'arrive'}`}
        >
          <Arriving rows={arriving} />
        </Disclosure>
      )}
      {valueless > 0 && (
        <p class="soft">
          {pluralize(valueless, 'row')} without a counted value {valueless === 1 ? 'is' : 'are'} not shown.
        </p>
      )}
      <p class="soft">
        Executed with the contracts as they are, and undone. Gas fees are not in it, nor rewards without a row of their
        own.
      </p>
    </>
  )
}

/**
 * Sorts rows: those that arrive with a value, those of which something is blocked, and debts without a lender of the money
 * for them. `valueless`: how many others there are.
 */
export function sortRows(rows: readonly Row[]) {
  const blocked = rows.filter(({ blocked_by, book }) => blocked_by !== null && isPositive(book.raw))
  const arriving = rows.filter(({ arrives }) => arrives !== null && arrives.usd !== null)
  const lacking = rows.flatMap(({ blocked_by, kind, token, book }) =>
    blocked_by === 'unfunded' && kind === 'borrowed' ? [{ token, amount: book }] : [],
  )
  const shown = new Set([...blocked, ...arriving])
  return { arriving, blocked, lacking, valueless: rows.length - shown.size }
}

function formatDoubt({ executed_as: executedAs }: Exit) {
  if (executedAs === 'replaced_code')
    return 'The wallet has code of its own, in whose place this was executed: the wallet itself might do otherwise.'
  return executedAs === null
    ? 'No endpoint of this chain executes exits: only what is in the wallet itself arrives for sure.'
    : 'Not everything could be executed: what is unsupported may arrive nevertheless.'
}

interface Money {
  readonly token: Row['token']
  readonly amount: { raw: string; amount: string | null }
}

function joinAmounts(list: readonly Money[]) {
  return list.map(({ token, amount }, index) => (
    <>
      {index > 0 && ', '}
      <Tokens token={token} amount={amount} /> <TokenSymbol symbol={token.symbol} />
    </>
  ))
}

function Tokens({ token, amount: { raw, amount } }: Money) {
  return amount === null ? `${raw} units` : <Amount value={amount} symbol={token.symbol} />
}

/** Names where a row is: `in the wallet`, `aave-v3 main`. */
export function formatPlace({ kind, position }: Row) {
  if (position === null) return 'in the wallet'
  const {
    family,
    token_id: tokenId,
    market_id: marketId = '',
    part = '',
  } = position as Readonly<Record<string, string>>
  const market = marketId.length > 20 ? `${marketId.slice(0, 10)}…` : marketId
  const what = kind === 'borrowed' ? 'debt' : part
  return [family, tokenId === undefined ? market : `#${tokenId}`, what].filter((word) => word !== '').join(' ')
}

function Blocked({ rows }: { rows: readonly Row[] }) {
  return (
    <Table label="What is blocked" columns={['Token', 'Has', 'Arrives', nameColumn('As'), textColumn('Because')]}>
      {rows.map((row) => (
        <tr>
          <th scope="row">
            <TokenSymbol symbol={row.token.symbol} />
          </th>
          <td>
            <Tokens token={row.token} amount={row.book} />
          </td>
          <td>{row.arrives === null ? 'nothing' : <Tokens token={row.token} amount={row.arrives} />}</td>
          <td class="left">{formatPlace(row)}</td>
          <td class="words">
            <b>{(row.blocked_by ?? '').replaceAll('_', ' ')}</b> {row.detail}
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Arriving({ rows }: { rows: readonly Row[] }) {
  return (
    <Table label="What arrives" columns={['Token', 'Amount', 'Value', nameColumn('From')]}>
      {rows.map((row) => (
        <tr>
          <th scope="row">
            <TokenSymbol symbol={row.token.symbol} />
          </th>
          <td>{row.arrives && <Tokens token={row.token} amount={row.arrives} />}</td>
          <td>
            <Usd value={row.arrives?.usd ?? null} />
          </td>
          <td class="left">{formatPlace(row)}</td>
        </tr>
      ))}
    </Table>
  )
}
