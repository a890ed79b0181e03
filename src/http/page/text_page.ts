import { htmlHeaders, renderHtml } from './html.ts'
import type { Page } from './page.ts'
import { CACHE_REVALIDATE, createCompressedPage } from './static.ts'

/** What all pages of text are drawn with: addresses from the root, `assets/…/style/base.css`. */
export interface PageAssets {
  readonly styles: readonly string[]
  readonly icon: string
}

/** Nothing runs, and nothing is loaded from elsewhere. */
export const TEXT_PAGE_HEADERS = {
  ...htmlHeaders(["style-src 'self'", "img-src 'self' data:"]),
  'cache-control': CACHE_REVALIDATE,
}

/** Every page of callers by its name: where it is, from the root. */
const PAGES = { Explore: './', Usage: 'usage', API: 'docs', Formulas: 'formulas' }

const MARK =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6.5" /><path d="M15.4 15.4 21 21M7.5 11.5l2-2.2 2 1.6 2.2-3" /></svg>'

/** A page of text below what all pages have above them. */
interface Text {
  /** Safe in HTML. */
  readonly title: string
  /** HTML. */
  readonly body: string
  /** Class of its main part. */
  readonly kind?: string
  /** The page that it is, or that it belongs to. */
  readonly page: keyof typeof PAGES
  /** True if it is that page itself. */
  readonly isPage: boolean
  readonly look: PageAssets
  /** From its address to the root. @default '' */
  readonly root?: string
}

/** HTML of a page of text, without scripts. */
export function renderTextPage({ title, body, kind, page, isPage, look, root = '' }: Text): string {
  const links = Object.entries(PAGES).map(([name, address]) => {
    const here = name === page ? ` class="here"${isPage ? ' aria-current="page"' : ''}` : ''
    return `<a href="${linked(root, address)}"${here}>${name}</a>`
  })
  const head = `<meta name="color-scheme" content="light dark">
<title>walletscope: ${title}</title>
<link rel="icon" href="${linked(root, look.icon)}">
${look.styles.map((path) => `<link rel="stylesheet" href="${linked(root, path)}">`).join('\n')}`
  return renderHtml({
    head,
    body: `<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<a class="brand" href="${linked(root, './')}" aria-label="walletscope">${MARK}<span>walletscope</span></a>
<nav aria-label="Pages">${links.join('\n')}</nav>
</header>
<main id="content" tabindex="-1" class="text${kind === undefined ? '' : ` ${kind}`}">
${body}
</main>`,
  })
}

/** A page of text. */
export function createTextPage(text: Text): Page {
  return createCompressedPage(renderTextPage(text), TEXT_PAGE_HEADERS)
}

/** An address of the root as it is from another. */
function linked(root: string, address: string): string {
  return root === '' ? address : `${root}${address.replace('./', '')}`
}
