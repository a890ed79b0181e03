import type { ComponentChildren } from 'preact'
import { walletKind } from '../lib/address.ts'
import type { Failure } from '../lib/api.ts'
import type { View, WalletView } from '../lib/link.ts'
import type { PortfolioBalance, ToDo } from '../lib/shapes.ts'
import { pluralize } from '../lib/time.ts'
import { useEffect, useState } from '../lib/view.ts'
import { Choice } from '../part/field.tsx'
import { Guard } from '../part/guard.tsx'
import { EmptyState } from '../part/notice.tsx'
import { AavePart } from './lending/aave.tsx'
import { KaminoAdded, KaminoPart } from './lending/kamino.tsx'
import { MorphoPart } from './lending/morpho.tsx'
import { LiquidityBar } from './liquidity/bar.tsx'
import { HistoriesOffer } from './liquidity/histories.tsx'
import { AS_LISTED } from './liquidity/order.ts'
import { LiquidityParts } from './liquidity/part.tsx'
import type { Context } from './page.tsx'
import { Portfolio } from './portfolio/portfolio.tsx'
import type { RequestedPart } from './requests/answers.ts'
import { useAnswers } from './requests/answers.ts'
import { groupCauses, Notices } from './requests/causes.tsx'
import type { ListKey } from './requests/plan.ts'
import { createPlan } from './requests/plan.ts'
import { isPending } from './requests/polling.tsx'
import { EmptyFamilies, Section } from './section.tsx'
import { Summary } from './summary.tsx'
import { sumTargetCredits } from './total.ts'

interface ResultProps {
  readonly context: Context
  readonly setView: (view: View) => void
  /** Credits, if this wallet alone is shown. */
  readonly spent: number | undefined
  /** Of all wallets. */
  readonly targetCredits: number
  /** Of this wallet. */
  readonly toDo: readonly ToDo[]
  readonly wanted: Wanted | undefined
  readonly onTargetCredits: (credits: number) => void
  readonly onBalance: (balance: PortfolioBalance['data'] | 'failed') => void
}

/** A thing to do whose row was asked for; `at` counts how often. */
export interface Wanted {
  readonly toDo: ToDo
  readonly at: number
}

/** All parts of one wallet. */
export function Result({ context, setView, spent, targetCredits, onTargetCredits, onBalance }: ResultProps) {
  const { catalog, view, key } = context
  const [more, setMore] = useState<Record<string, number>>({})
  const pages = (list: ListKey) => (list.family === 'closed' ? 0 : 1) + (more[formatListKey(list)] ?? 0)
  const [order, setOrder] = useState(AS_LISTED)
  const { parts, again } = useAnswers(createPlan(view, catalog, pages), key)
  const [round, setRound] = useState(0)
  const [presses, setPresses] = useState(0)
  const causes = groupCauses(parts)
  const ownCredits = sumTargetCredits(parts)
  useEffect(() => onTargetCredits(ownCredits), [ownCredits])
  const pending = parts.filter(({ answer }) => isPending(answer))
  const listParts = (family: RequestedPart['family']) => parts.filter((part) => part.family === family)
  const add = (list: ListKey) => () => setMore({ ...more, [formatListKey(list)]: (more[formatListKey(list)] ?? 0) + 1 })
  /** Returns the actions of a list's last page: load the next page, and closed positions if none are shown. */
  const getOffers = (part: RequestedPart) => {
    if (listParts(part.family).findLast((each) => formatListKey(each) === formatListKey(part))?.path !== part.path)
      return {}
    const { family, protocol, chainId } = part as ListKey
    const closed = { family: 'closed', protocol, chainId } as const
    const hasNoClosed = family === 'liquidity' && pages(closed) === 0
    return { onMore: add({ family, protocol, chainId }), ...(hasNoClosed && { onClosed: add(closed) }) }
  }
  const evm = walletKind(view.wallet) === 'evm'
  // Endpoints of Solana keep no past state.
  const summed = evm || (view.asOf === '' && (catalog.kamino || listParts('liquidity').length > 0))
  const retry = (paths: readonly string[]) => {
    again(...paths)
    setRound(round + 1)
  }
  const notices = <Notices causes={causes} parts={parts} catalog={catalog} again={retry} />
  if (parts.length > 0 && causes.refusals.flat().length === parts.length) return notices
  const codes = new Set(causes.refusals.flat().map(({ answer }) => answer.code))
  const isSettled = parts.every(({ answer }) => answer !== undefined)
  /** Returns true if a notice shows this failure already. */
  const isReported = ({ code, status }: Failure) =>
    !isSettled || codes.has(code) || (status >= 500 && causes.outages.length === parts.length)
  const target = <Target view={view} credits={targetCredits} setView={setView} />
  const liquidity = [...listParts('liquidity'), ...listParts('closed')]
  const each = (draw: (part: RequestedPart) => ComponentChildren) => (results: readonly RequestedPart[]) =>
    results.map(draw)
  /** Families in order; `draw` renders the parts that have results. */
  const families = [
    {
      title: 'Liquidity',
      parts: liquidity,
      lead: (
        <>
          <LiquidityBar parts={liquidity} order={order} onOrder={setOrder} />
          <HistoriesOffer parts={liquidity} order={order} context={context} onPress={() => setPresses(presses + 1)} />
        </>
      ),
      draw: (results: readonly RequestedPart[]) => (
        <LiquidityParts parts={results} context={context} order={order} getOffers={getOffers} />
      ),
    },
    {
      title: 'Aave V3',
      parts: listParts('aave'),
      aside: target,
      draw: each((part) => <AavePart key={part.path} part={part} context={context} />),
    },
    {
      title: 'Morpho Blue',
      parts: listParts('morpho'),
      draw: each((part) => <MorphoPart key={part.path} part={part} context={context} />),
    },
    {
      title: 'Kamino',
      parts: listParts('kamino'),
      aside: target,
      draw: each((part) => <KaminoPart key={part.path} part={part} context={context} />),
    },
  ]
  return (
    <>
      {notices}
      {parts.length > 0 && (
        <Summary label={view.label('Summary')} parts={parts} pending={pending} catalog={catalog} spent={spent} />
      )}
      {summed && catalog.portfolio && (
        <Guard>
          <Portfolio context={context} round={round} isReported={isReported} onBalance={onBalance} />
        </Guard>
      )}
      {families.map(({ title, parts: ownParts, aside, lead, draw }) => (
        <Guard key={title}>
          <Section title={title} label={view.label(title)} parts={ownParts} catalog={catalog} aside={aside} lead={lead}>
            {draw}
          </Section>
        </Guard>
      ))}
      {!evm && (
        <Solana lists={listParts('kamino')} added={listParts('obligation')} context={context} setView={setView} />
      )}
      <EmptyFamilies families={families} catalog={catalog} />
    </>
  )
}

interface ListName {
  readonly family: string
  readonly protocol?: string
  readonly chainId: number
}

function formatListKey({ family, protocol, chainId }: ListName) {
  return `${family} ${protocol} ${chainId}`
}

interface TargetProps {
  readonly view: WalletView
  readonly credits: number
  readonly setView: (view: View) => void
}

/**
 * Selector of the health factor that the safe amounts keep. Its button reads them again, for the price that it names.
 */
function Target({ view, credits, setView }: TargetProps) {
  const [chosen, setChosen] = useState(view.target)
  useEffect(() => setChosen(view.target), [view.target])
  const options = [...new Set([view.target, '1.1', '1.25', '1.5', '2', '3'])]
  return (
    <div class="target-choice">
      <Choice label="Safe amounts keep a health factor of" value={chosen} options={options} onValue={setChosen} />
      {chosen !== view.target && (
        <button type="button" class="small" onClick={() => setView({ ...view, target: chosen })}>
          Read them again <i>{pluralize(credits, 'credit')}</i>
        </button>
      )}
    </div>
  )
}

interface SolanaProps {
  readonly lists: readonly RequestedPart[]
  readonly added: readonly RequestedPart[]
  readonly context: Context
  readonly setView: (view: View) => void
}

/** Notices about Solana, and added Kamino obligations. */
function Solana({ lists, added, context, setView }: SolanaProps) {
  const { view, catalog } = context
  if (!catalog.kamino) {
    return <EmptyState title="Solana is not served here">The operator sets SOLANA_RPC_URL to serve it.</EmptyState>
  }
  if (view.asOf !== '') {
    return (
      <section class="family" aria-label={view.label('Kamino')}>
        <div class="family-head">
          <h2>Kamino</h2>
        </div>
        <EmptyState title="Not shown as of a past moment">
          Solana's endpoints keep no past, so Kamino can only be read as it is now. Nothing was asked.
          <p class="more">
            <button type="button" onClick={() => setView({ ...view, asOf: '' })}>
              Look at now
            </button>
          </p>
        </EmptyState>
      </section>
    )
  }
  return <KaminoAdded lists={lists} parts={added} context={context} setView={setView} />
}
