import type { Failure } from '../../lib/api.ts'
import type { Catalog } from '../../lib/catalog.ts'
import { chainName, SOLANA_CHAIN_ID } from '../../lib/catalog.ts'
import { isNegative, isPositive } from '../../lib/decimal.ts'
import type { Asset, PortfolioBalance } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { useEffect, useState } from '../../lib/view.ts'
import { Disclosure } from '../../part/disclosure.tsx'
import { Amount, DefinitionList, Usd } from '../../part/figure.tsx'
import { EmptyState } from '../../part/notice.tsx'
import { nameColumn, Table, textColumn } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { isPending, PolledAnswer, usePolledAnswer } from '../requests/polling.tsx'
import { Days } from './days.tsx'
import { WalletExit } from './exit.tsx'

/** Uncounted rows shown at most: the first page of the service. */
const ROWS_MAX = 25

type Balance = PortfolioBalance['data']

interface PortfolioProps {
  readonly context: Context
  /** Number of retries. */
  readonly round: number
  /** Whether a notice shows this failure already. */
  readonly isReported: (failure: Failure) => boolean
  readonly onBalance: (balance: Balance | 'failed') => void
}

/** Net worth of the wallet on all chains of its kind, and the rows that are not counted. */
export function Portfolio({ context, round, isReported, onBalance }: PortfolioProps) {
  const { view, key } = context
  const past: Record<string, string> = view.asOf === '' ? {} : { at_time: view.asOf }
  const query = formatQuery({ wallet: view.wallet, ...past, allow_partial: 'true' })
  const balance = usePolledAnswer<PortfolioBalance>(`v1/portfolio/balance?${query}`, key)
  const { answer, again } = balance
  // What failed was not paid for; a part of the sum was, and has a button of its own.
  useEffect(() => {
    if (round > 0 && answer?.ok === false) again()
  }, [round])
  useEffect(() => {
    if (answer !== undefined && !isPending(answer)) onBalance(answer.ok ? answer.body.data : 'failed')
  }, [answer])
  if (answer?.ok === false && !isPending(answer) && isReported(answer)) return null
  return (
    <section class="family" aria-label={view.label('Portfolio')}>
      <div class="family-head">
        <h2>Portfolio</h2>
      </div>
      <div class="stack">
        <PolledAnswer
          request={balance}
          what="The portfolio"
          context={context}
          render={({ body, atSec }) => (
            <Worth atSec={atSec} balance={body.data} context={context} query={query} again={again} />
          )}
        />
      </div>
    </section>
  )
}

/**
 * Returns true if a sum says something: zero does not where a chain could not be read. `unread`: chains that are not in
 * the sum.
 */
export function isKnownSum(usd: string, unread: readonly unknown[]) {
  return unread.length === 0 || isPositive(usd) || isNegative(usd)
}

interface WorthProps {
  readonly atSec: number
  readonly balance: Balance
  readonly context: Context
  readonly query: string
  readonly again: () => void
}

function Worth({ atSec, balance, context, query, again }: WorthProps) {
  const { by_kind: kinds, by_confidence: confidences, by_chain: chains, rows, unread, coverage } = balance
  const uncounted = rows.unpriced + rows.spam + rows.other_reasons
  if (rows.counted + uncounted === 0 && unread.length === 0) return <EmptyState title="Nothing found" />
  const draw = (usd: string | null) =>
    usd === null || !isKnownSum(usd, unread) ? <span class="absent">unknown</span> : <Usd value={usd} />
  return (
    <>
      <article class="card" aria-label="Net worth">
        <header>
          <h3>Net worth</h3>
          <p class="card-value">{draw(balance.net_worth_usd)}</p>
        </header>
        {balance.incomplete.length > 0 && (
          <ul class="soft incomplete">
            {balance.incomplete.map(({ what, amount, why }) => (
              <li>
                Without {what}
                {amount !== null && `, ${amount} of it`}: {why}
              </li>
            ))}
          </ul>
        )}
        <Unread unread={unread} chains={chains.length + unread.length} catalog={context.catalog} again={again} />
        <div class="sides">
          <DefinitionList
            rows={[
              ['In the wallet', draw(kinds.wallet_usd)],
              ['Liquidity', draw(kinds.liquidity_usd)],
              ['Supplied', draw(kinds.supplied_usd)],
              ['Borrowed', draw(isPositive(kinds.borrowed_usd) ? `-${kinds.borrowed_usd}` : kinds.borrowed_usd)],
            ]}
          />
          <DefinitionList
            rows={[
              ['Priced by an oracle', draw(confidences.oracle_usd)],
              ['Derived by a known rate', draw(confidences.derived_usd)],
              ['Assumed, a stablecoin', draw(confidences.assumed_usd)],
              ['Priced by a pool', draw(confidences.market_usd)],
            ]}
          />
        </div>
        {uncounted > 0 && <NotCounted number={uncounted} context={context} query={query} />}
        <Disclosure class="as-table" title="Coverage">
          <p class="soft">{formatCoverage(coverage)}.</p>
          <p class="soft not-read">Not read: {coverage.not_read.join('; ')}.</p>
        </Disclosure>
      </article>
      {chains
        .filter(
          ({ chain_id, assets_usd, debt_usd }) =>
            chain_id !== SOLANA_CHAIN_ID && (isPositive(assets_usd) || isPositive(debt_usd)),
        )
        .map(({ chain_id }) => (
          <>
            <WalletExit key={`exit ${chain_id}`} chainId={chain_id} context={context} />
            <Days key={chain_id} chainId={chain_id} atSec={atSec} context={context} />
          </>
        ))}
    </>
  )
}

interface UnreadProps {
  readonly unread: Balance['unread']
  /** How many there are. */
  readonly chains: number
  readonly catalog: Catalog
  readonly again: () => void
}

/** Chains missing from the sum, and a button that reads all of it again. */
function Unread({ unread, chains, catalog, again }: UnreadProps) {
  const [asked, setAsked] = useState<Balance['unread'] | undefined>(undefined)
  const names = unread.map(({ chain_id }) => chainName(catalog, chain_id))
  if (names.length === 0) return null
  // Another press while the answer is on its way would pay for it twice.
  const readAgain = () => {
    setAsked(unread)
    again()
  }
  const title = `${names.length === 1 ? `${names[0]} is` : `${names.length} chains are`} not in it`
  return (
    <Disclosure class="as-table" mood="bad" title={title}>
      <ul>
        {unread.map(({ because }, index) => (
          <li>
            {names[index]}: {because}
          </li>
        ))}
      </ul>
      {asked !== unread && (
        <p class="more">
          <Offer price={`up to ${pluralize(chains * catalog.credits.portfolio, 'credit')}`} onPress={readAgain}>
            Read it again
          </Offer>
        </p>
      )}
    </Disclosure>
  )
}

/** Formats the coverage as text. */
function formatCoverage({ tokens_asked, token_lists, families, nfts = 0, found_by = [] }: Balance['coverage']) {
  const lists = token_lists.length === 0 ? '' : ` of ${token_lists.join(', ')}`
  const pictures = nfts === 0 ? [] : [`${pluralize(nfts, 'NFT')}, which have no row`]
  const partial = found_by
    .filter(({ complete }) => !complete)
    .map(({ family }) => `${family} by addresses that can be derived, so there may be more`)
  return [`${pluralize(tokens_asked, 'token')}${lists}`, families.join(', '), ...pictures, ...partial].join('; ')
}

function NotCounted({ number, context, query }: { number: number; context: Context; query: string }) {
  const { key, catalog } = context
  const shown = Math.min(number, ROWS_MAX)
  const path = `v1/portfolio/assets?${query}&${formatQuery({ counted: 'false', limit: ROWS_MAX })}`
  const { isPressed, press } = usePress(context, [path])
  const request = usePolledAnswer<{ data: readonly Asset[] }>(isPressed ? path : undefined, key, context)
  const more = number > ROWS_MAX ? `, the first ${ROWS_MAX} of them here` : ''
  const title = (
    <h4>
      Not counted: {pluralize(number, 'row')}
      {isPressed ? more : ''}
    </h4>
  )
  if (!isPressed)
    return (
      <>
        {title}
        <p class="more">
          <Offer price={`up to ${pluralize(shown * catalog.credits.row, 'credit')}`} onPress={press}>
            Show {number > ROWS_MAX ? `the first ${ROWS_MAX}` : 'them'}
          </Offer>
        </p>
      </>
    )
  return (
    <>
      {title}
      <PolledAnswer
        request={request}
        what="What is not counted"
        context={context}
        render={({ body }) => <Rows rows={body.data} catalog={catalog} />}
      />
    </>
  )
}

function Rows({ rows, catalog }: { rows: readonly Asset[]; catalog: Catalog }) {
  return (
    <Table
      label="What is not counted"
      columns={['Token', 'Amount', nameColumn('Chain'), nameColumn('As'), textColumn('Because')]}
    >
      {rows.map(({ token, amount, chain_id, kind, reason, detail }) => (
        <tr>
          <th scope="row">{token.symbol === '' ? (reason === 'dust' ? 'many' : 'no name') : token.symbol}</th>
          <td>
            {reason === 'dust' ? (
              '–'
            ) : amount.amount === null ? (
              amount.raw
            ) : (
              <Amount value={amount.amount} symbol={token.symbol} />
            )}
          </td>
          <td class="left">{chainName(catalog, chain_id)}</td>
          <td class="left">{kind}</td>
          <td class="words">
            <b>{(reason ?? '').replaceAll('_', ' ')}</b> {detail}
          </td>
        </tr>
      ))}
    </Table>
  )
}
