import type { ComponentChildren } from 'preact'
import type { Catalog } from '../lib/catalog.ts'
import type { PositionCounts } from '../lib/shapes.ts'
import { ExplorerLink, explorerName } from '../part/explorer_link.tsx'
import { Provenance } from '../part/provenance.tsx'
import type { Context } from './page.tsx'
import type { RequestedPart } from './requests/answers.ts'
import { formatPartName } from './requests/plan.ts'

/** Returns true if a list has nothing in it, and left nothing out. */
export function isEmpty({ answer }: RequestedPart) {
  if (answer?.ok !== true) return false
  const { data, counts } = answer.body as { data: readonly unknown[]; counts?: PositionCounts }
  return data.length === 0 && (counts?.total ?? 0) === 0 && (counts?.spams.length ?? 0) === 0
}

interface EmptyFamiliesProps {
  readonly families: readonly { title: string; parts: readonly RequestedPart[] }[]
  readonly catalog: Catalog
}

/** Lists without any result, in one line. */
export function EmptyFamilies({ families, catalog }: EmptyFamiliesProps) {
  const empty = families
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
