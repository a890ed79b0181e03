import { walletKind } from '../lib/address.ts'
import type { Failure } from '../lib/api.ts'
import type { View } from '../lib/link.ts'
import { toWalletId } from '../lib/link.ts'
import { nameProtocol } from '../lib/protocol.ts'
import { getCardsShown } from '../lib/session.ts'
import type { AssetList, PortfolioBalance, PositionList, ToDo } from '../lib/shapes.ts'
import { pluralize } from '../lib/time.ts'
import { useEffect, useLayoutEffect, useMemo, useState } from '../lib/view.ts'
import { Guard } from '../part/guard.tsx'
import { EmptyState, ProgressNotice, Skeleton } from '../part/notice.tsx'
import { KaminoAdded } from './lending/kamino.tsx'
import { LiquidityBar } from './liquidity/bar.tsx'
import { HistoriesOffer } from './liquidity/histories.tsx'
import { PartFoot } from './liquidity/part_foot.tsx'
import type { Context } from './page.tsx'
import { Portfolio } from './portfolio/portfolio.tsx'
import { AnswerSource } from './receipt.tsx'
import type { RequestedPart } from './requests/answers.ts'
import { useAnswers } from './requests/answers.ts'
import { groupCauses, Notices } from './requests/causes.tsx'
import { Offer } from './requests/offer.tsx'
import type { ListKey } from './requests/plan.ts'
import { ASSETS_MAX, createAssetsPlan, createPlan, FAMILY_NAMES, formatPartName } from './requests/plan.ts'
import { isPending } from './requests/polling.tsx'
import { collectRows } from './rows/collect.ts'
import type { WalletRow } from './rows/row.ts'
import { EmptyFamilies, isEmpty, PartHead } from './section.tsx'
import { Summary } from './summary.tsx'
import { sumTargetCredits } from './total.ts'

interface ResultProps {
  readonly context: Context
  readonly setView: (view: View) => void
  /** Credits, if this wallet alone is shown. */
  readonly spent: number | undefined
  /** Of all wallets. */
  readonly toDo: readonly ToDo[]
  readonly onRows: (rows: readonly WalletRow[]) => void
  /** Called when histories were asked for, which cards show. */
  readonly onHistories: () => void
  readonly onTargetCredits: (credits: number) => void
  readonly onBalance: (balance: PortfolioBalance['data'] | 'failed') => void
}

/** All parts of one wallet but its positions and tokens, which stand in one list with those of others. */
export function Result({
  context,
  setView,
  spent,
  toDo,
  onRows,
  onHistories,
  onTargetCredits,
  onBalance,
}: ResultProps) {
  const { catalog, view, key } = context
  const [more, setMore] = useState<Record<string, number>>({})
  const pages = (list: ListKey) => (list.family === 'closed' ? 0 : 1) + (more[formatListKey(list)] ?? 0)
  const [assetPages, setAssetPages] = useState(1)
  const { parts, version, again } = useAnswers(createPlan(view, catalog, pages), key)
  const isSummed = isCounted(context, parts)
  const assets = useAnswers(isSummed ? createAssetsPlan(view, assetPages) : [], key)
  const rows = useMemo(() => {
    const own = toDo.filter((each) => toWalletId(each.wallet) === toWalletId(view.wallet))
    return collectRows({ parts, assets: listAssets(assets.parts), toDo: own }, context)
  }, [version, assets.version, toDo, view.target, parts.length])
  // With the states of the parts, not a frame later.
  useLayoutEffect(() => onRows(rows), [rows])
  const [round, setRound] = useState(0)
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
  const liquidity = [...listParts('liquidity'), ...listParts('closed')]
  const families = [
    { title: 'Liquidity', parts: liquidity },
    { title: 'Aave V3', parts: listParts('aave') },
    { title: 'Morpho Blue', parts: listParts('morpho') },
    ...catalog.lending.map(({ protocol }) => ({
      title: nameProtocol(protocol),
      // The title names the protocol.
      parts: listParts('lending').flatMap(({ protocol: own, ...part }) => (own === protocol ? [part] : [])),
    })),
    { title: 'Kamino', parts: listParts('kamino') },
  ]
  const isWaiting = [...pending, ...parts, ...assets.parts].some(({ answer }) => answer === undefined)
  // Without a row, lists may offer closed positions or tell of spam, and tokens may not have been read.
  const isTold = liquidity.some((part) => part.answer?.ok && !isEmpty(part))
  const isUnread = assets.parts.at(-1)?.answer?.ok === false
  const hasLists = isWaiting || rows.length > 0 || isTold || isUnread
  return (
    <>
      {notices}
      {hasLists && (
        <section class="family lists" aria-label={view.label('Lists')}>
          {pending.map(
            ({ answer, ...part }) =>
              answer?.ok === false &&
              answer.progress && (
                <ProgressNotice
                  key={part.path}
                  what={`${FAMILY_NAMES[part.family]} on ${formatPartName(catalog, part)}`}
                  progress={answer.progress}
                />
              ),
          )}
          {isWaiting && <Skeleton>Reading positions and tokens</Skeleton>}
          <AssetsFoot
            parts={assets.parts}
            context={context}
            again={assets.again}
            onMore={() => setAssetPages(assetPages + 1)}
          />
          {liquidity.map((part) => {
            const served = catalog.liquidity.find(({ protocol }) => protocol === part.protocol)
            if (!part.answer?.ok || served === undefined) return null
            const list = part.answer.body as PositionList
            const name = formatPartName(catalog, part)
            return <PartFoot key={part.path} list={list} served={served} name={name} {...getOffers(part)} />
          })}
          <LiquidityBar parts={liquidity} />
          <HistoriesOffer parts={liquidity} context={context} onPress={onHistories} />
        </section>
      )}
      {!evm && (
        <Solana lists={listParts('kamino')} added={listParts('obligation')} context={context} setView={setView} />
      )}
      {isSummed && (
        <Guard>
          <Portfolio context={context} round={round} isReported={isReported} onBalance={onBalance} />
        </Guard>
      )}
      {parts.length > 0 && (
        <Summary label={view.label('Summary')} parts={parts} pending={pending} catalog={catalog} spent={spent} />
      )}
      <Sources families={families} context={context} />
      <EmptyFamilies families={families} catalog={catalog} />
    </>
  )
}

function listAssets(parts: readonly RequestedPart[]) {
  return parts.flatMap(({ answer }) => (answer?.ok ? (answer.body as AssetList).data : []))
}

interface AssetsFootProps {
  readonly parts: readonly RequestedPart[]
  readonly context: Context
  readonly again: (...paths: readonly string[]) => void
  readonly onMore: () => void
}

/** Button for further rows of the portfolio, or why its rows are not shown. */
function AssetsFoot({ parts, context, again, onMore }: AssetsFootProps) {
  const last = parts.at(-1)
  if (last?.answer === undefined) return null
  if (!last.answer.ok) {
    return (
      <p class="more">
        <span class="bad">Tokens and what no list has could not be read.</span>
        <button type="button" class="small" onClick={() => again(last.path)}>
          Read them again
        </button>
      </p>
    )
  }
  const { pagination } = last.answer.body as AssetList
  const left = pagination.total - pagination.page * ASSETS_MAX
  if (left <= 0) return null
  const shown = Math.min(left, ASSETS_MAX)
  return (
    <p class="more">
      <Offer price={`up to ${pluralize(shown * context.catalog.credits.row, 'credit')}`} onPress={onMore}>
        Show {shown} more of the smallest
      </Offer>
    </p>
  )
}

interface SourcesProps {
  readonly families: readonly { readonly title: string; readonly parts: readonly RequestedPart[] }[]
  readonly context: Context
}

/** Where the figures of all lists are from, with their calls, tables and receipts. */
function Sources({ families, context }: SourcesProps) {
  const read = families
    .map(({ title, parts }) => ({ title, parts: parts.filter((part) => part.answer?.ok && !isEmpty(part)) }))
    .filter(({ parts }) => parts.length > 0)
  if (read.length === 0) return null
  return (
    <details class="sources" open={getCardsShown()}>
      <summary>Sources of the lists: blocks, prices, curl, CSV, receipts</summary>
      {read.map(({ title, parts }) => (
        <section aria-label={context.view.label(title)} key={title}>
          {parts.map((part) => (
            <div class="part" key={part.path}>
              <PartHead part={part} context={context}>
                , {title}
                {part.family === 'closed' && ', closed'}
              </PartHead>
              {part.answer?.ok && <AnswerSource answer={part.answer} context={context} />}
            </div>
          ))}
        </section>
      ))}
    </details>
  )
}

/** True if the portfolio of the wallet is read. Endpoints of Solana keep no past state. */
function isCounted({ catalog, view }: Context, parts: readonly RequestedPart[]) {
  if (!catalog.portfolio) return false
  if (walletKind(view.wallet) === 'evm') return true
  return view.asOf === '' && (catalog.kamino || parts.some(({ family }) => family === 'liquidity'))
}

interface ListName {
  readonly family: string
  readonly protocol?: string
  readonly chainId: number
}

function formatListKey({ family, protocol, chainId }: ListName) {
  return `${family} ${protocol} ${chainId}`
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
