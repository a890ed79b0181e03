import type { ComponentChildren } from 'preact'
import type { Catalog } from '../lib/catalog.ts'

interface ExplorerLinkProps {
  readonly catalog: Catalog
  readonly chainId: number
  readonly kind?: 'address' | 'tx'
  readonly id: string
  /** Description, if the children do not describe the target. */
  readonly label?: string | undefined
  readonly children: ComponentChildren
}

/**
 * Link to the chain's explorer in a new tab, without opener and referrer. Renders only its children if no explorer is
 * known.
 */
export function ExplorerLink({ catalog, chainId, kind = 'address', id, label, children }: ExplorerLinkProps) {
  const site = catalog.explorers.get(chainId)
  if (site === undefined) return children
  const { hostname } = new URL(site)
  return (
    <a
      class="out"
      href={`${site}/${kind}/${encodeURIComponent(id)}`}
      target="_blank"
      rel="noopener noreferrer"
      title={id}
    >
      {children}
      <span class="visually-hidden">
        {label && `: ${label}`} on {hostname}, in a new tab
      </span>
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M6 3H3v10h10v-3M9 3h4v4M13 3 7.5 8.5" />
      </svg>
    </a>
  )
}

/** Returns the host name of a chain's explorer; undefined if none is known. */
export function explorerName({ explorers }: Catalog, chainId: number) {
  const site = explorers.get(chainId)
  return site && new URL(site).hostname
}
