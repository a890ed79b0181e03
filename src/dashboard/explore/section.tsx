import type { ComponentChildren } from 'preact'
import type { Catalog } from '../lib/catalog.ts'
import type { PositionCounts } from '../lib/shapes.ts'
import { ExplorerLink, explorerName } from '../part/explorer_link.tsx'
import { ProgressNotice, Skeleton } from '../part/notice.tsx'
import { Provenance } from '../part/provenance.tsx'
import type { Context } from './page.tsx'
import { AnswerSource } from './receipt.tsx'
import type { RequestedPart } from './requests/answers.ts'
import { formatPartName } from './requests/plan.ts'
import { isPending } from './requests/polling.tsx'

function isEmpty({ answer }: RequestedPart) {
  if (answer?.ok !== true) return false
  const { data, counts } = answer.body as { data: readonly unknown[]; counts?: PositionCounts }
  return data.length === 0 && (counts?.total ?? 0) === 0 && (counts?.spams.length ?? 0) === 0
}

/** Returns true if a part has results or may still get some. */
function hasSomething(parts: readonly RequestedPart[]) {
  return parts.some((part) => part.answer === undefined || isPending(part.answer) || (part.answer.ok && !isEmpty(part)))
}

interface SectionProps {
  readonly title: string
  readonly label: string
  readonly parts: readonly RequestedPart[]
  readonly catalog: Catalog
  readonly aside?: ComponentChildren
  readonly lead?: ComponentChildren
  readonly children: (results: readonly RequestedPart[]) => ComponentChildren
}

/**
 * Section of a family: results, pending parts, and parts without results. Renders nothing if no part has results. The child
 * draws the parts that have some.
 */
export function Section({ title, label, parts, catalog, aside, lead, children }: SectionProps) {
  if (!hasSomething(parts)) return null
  const empty = parts.filter(isEmpty)
  const pending = parts.filter(({ answer }) => answer === undefined)
  const results = parts.filter((part) => part.answer?.ok && !isEmpty(part))
  return (
    <section class="family" aria-label={label}>
      <div class="family-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {lead}
      {parts.map(
        (part) =>
          part.answer?.ok === false &&
          part.answer.progress && (
            <ProgressNotice what={`${title} on ${formatPartName(catalog, part)}`} progress={part.answer.progress} />
          ),
      )}
      {results.length > 0 && children(results)}
      {pending.length > 0 && results.length === 0 && (
        <Skeleton>Reading {pending.map((part) => formatPartName(catalog, part)).join(', ')}</Skeleton>
      )}
      {empty.length > 0 && (
        <EmptyNotice title={`Nothing on ${joinNames(empty, catalog)}`} parts={empty} catalog={catalog} />
      )}
    </section>
  )
}

interface EmptyFamiliesProps {
  readonly families: readonly { title: string; parts: readonly RequestedPart[] }[]
  readonly catalog: Catalog
}

/** Families without any result, shown after all others. */
export function EmptyFamilies({ families, catalog }: EmptyFamiliesProps) {
  const empty = families
    .filter(({ parts }) => parts.length > 0 && !hasSomething(parts))
    .map(({ title, parts }) => ({ title, parts: parts.filter(isEmpty) }))
    .filter(({ parts }) => parts.length > 0)
  if (empty.length === 0) return null
  const names = empty.map(({ title, parts }) => `${title} (${joinNames(parts, catalog)})`)
  return (
    <EmptyNotice
      title={`Nothing in ${names.join(', ')}`}
      parts={empty.flatMap(({ parts }) => parts)}
      catalog={catalog}
    />
  )
}

function joinNames(parts: readonly RequestedPart[], catalog: Catalog) {
  return parts.map((part) => formatPartName(catalog, part)).join(', ')
}

interface PartHeadProps {
  readonly part: RequestedPart
  readonly context: Context
  readonly children?: ComponentChildren
}

/** Heading of the results on one chain, with a link to the wallet in the chain's explorer. */
export function PartHead({ part, context: { catalog, view }, children }: PartHeadProps) {
  const site = explorerName(catalog, part.chainId)
  return (
    <div class="part-head">
      <h3>
        {formatPartName(catalog, part)}
        {children}
      </h3>
      {site && (
        <ExplorerLink catalog={catalog} chainId={part.chainId} id={view.wallet} label="the wallet">
          {site}
        </ExplorerLink>
      )}
    </div>
  )
}

interface LendingPartProps<Position, Figures> {
  readonly part: RequestedPart
  readonly context: Context
  readonly children: (position: Position, figures: Figures, wallet: string) => ComponentChildren
}

/** Positions of a lending protocol on one chain. The child draws each with its figures. */
export function LendingPart<Position, Figures>({ part, context, children }: LendingPartProps<Position, Figures>) {
  const { answer } = part
  if (!answer?.ok) return null
  const { data } = answer.body as {
    data: readonly { wallet: string; positions: readonly Position[]; calculations: readonly Figures[] }[]
  }
  return (
    <div class="part">
      <PartHead part={part} context={context} />
      <div class="stack">
        {data.map(({ wallet, positions, calculations }) =>
          positions.map((each, index) => children(each, calculations[index] as Figures, wallet)),
        )}
      </div>
      <AnswerSource answer={answer} context={context} />
    </div>
  )
}

interface EmptyNoticeProps {
  readonly title: string
  readonly parts: readonly RequestedPart[]
  readonly catalog: Catalog
}

/** Parts without results, and their provenance. */
function EmptyNotice({ title, parts, catalog }: EmptyNoticeProps) {
  return (
    <details class="nothing-on">
      <summary>{title}</summary>
      {parts.map(({ answer }) => answer?.ok && <Provenance answer={answer} catalog={catalog} />)}
    </details>
  )
}
