import type { ComponentChildren } from 'preact'
import { ANNOUNCER_ID } from '../lib/announce.ts'
import { keepFocus } from '../lib/focus.ts'
import { classes, useEffect } from '../lib/view.ts'
import { Guard } from './guard.tsx'
import { NewSecrets } from './new_secrets.tsx'

const PAGES: readonly (readonly [string, string])[] = [
  ['Explore', './'],
  ['Usage', 'usage'],
  ['API', 'docs'],
  ['Formulas', 'formulas'],
]

interface ShellProps {
  readonly page: string
  readonly aside?: ComponentChildren
  readonly pages?: readonly (readonly [string, string])[]
  readonly children: ComponentChildren
}

/** Frame of every page: header, navigation, main content. */
export function Shell({ page, aside, pages = PAGES, children }: ShellProps) {
  useEffect(() => keepFocus(document.body), [])
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to the content, as a link without its script would */}
      <a class="skip" href="#content" onClick={focusContent}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={pages[0]?.[1] ?? './'} aria-label="walletscope">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <circle cx="10.5" cy="10.5" r="6.5" />
            <path d="M15.4 15.4 21 21M7.5 11.5l2-2.2 2 1.6 2.2-3" />
          </svg>
          <span>walletscope</span>
        </a>
        <nav aria-label="Pages">
          {pages.map(([name, target]) => (
            <a href={target} class={classes(name === page && 'here')} aria-current={name === page ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="bar-aside">{aside}</div>
      </header>
      <p id={ANNOUNCER_ID} class="visually-hidden" role="status" />
      <main id="content" tabindex={-1}>
        <NewSecrets />
        <Guard>{children}</Guard>
      </main>
    </>
  )
}

/** Focuses the content without changing the fragment, which holds the view. */
function focusContent(event: Event) {
  event.preventDefault()
  document.getElementById('content')?.focus()
}
