import { DOCS_PATH } from './docs.ts'
import { htmlHeaders, type Page, type Pages, renderHtml } from './html.ts'
import { createLazyPage } from './lazy.ts'
import { CACHE_REVALIDATE, createCompressedPage } from './static.ts'

/** Styles and icon of all text pages: addresses from the root, `assets/…/style/base.css`. */
export interface PageAssets {
  readonly styles: readonly string[]
  readonly icon: string
}

/** Forbids scripts and loads from other origins. */
export const TEXT_PAGE_HEADERS = {
  ...htmlHeaders(["style-src 'self'", "img-src 'self' data:"]),
  'cache-control': CACHE_REVALIDATE,
}

/** Addresses of the callers' pages by name, from the root. */
const PAGES = { Explore: './', Usage: 'usage', API: 'docs', Formulas: 'formulas' }

const MARK =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6.5" /><path d="M15.4 15.4 21 21M7.5 11.5l2-2.2 2 1.6 2.2-3" /></svg>'

/** A text page, below the header of all pages. */
interface Text {
  /** Safe in HTML. */
  readonly title: string
  /** HTML. */
  readonly body: string
  /** CSS class of the main part. */
  readonly kind?: string
  /** The page's entry in the header. */
  readonly page: keyof typeof PAGES
  /** True if it is the entry's page itself. */
  readonly isPage: boolean
  readonly assets: PageAssets
  /** Relative path from its address to the root. @default '' */
  readonly root?: string
}

/** Renders a text page without scripts. */
export function renderTextPage({ title, body, kind, page, isPage, assets, root = '' }: Text): string {
  const links = Object.entries(PAGES).map(([name, address]) => {
    const here = name === page ? ` class="here"${isPage ? ' aria-current="page"' : ''}` : ''
    return `<a href="${toRelative(root, address)}"${here}>${name}</a>`
  })
  const head = `<meta name="color-scheme" content="light dark">
<title>walletscope: ${title}</title>
<link rel="icon" href="${toRelative(root, assets.icon)}">
${assets.styles.map((path) => `<link rel="stylesheet" href="${toRelative(root, path)}">`).join('\n')}`
  return renderHtml({
    head,
    body: `<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<a class="brand" href="${toRelative(root, './')}" aria-label="walletscope">${MARK}<span>walletscope</span></a>
<nav aria-label="Pages">${links.join('\n')}</nav>
</header>
<main id="content" tabindex="-1" class="text${kind === undefined ? '' : ` ${kind}`}">
${body}
</main>`,
  })
}

/** Creates a text page. */
export function createTextPage(text: Text): Page {
  return createCompressedPage(renderTextPage(text), TEXT_PAGE_HEADERS)
}

/** Converts an address from the root to one relative to `root`. */
function toRelative(root: string, address: string): string {
  return root === '' ? address : `${root}${address.replace('./', '')}`
}

interface Guide {
  /** Last part of its address. */
  readonly name: string
  readonly title: string
  /** Trusted HTML. */
  readonly content: string
}

/**
 * Creates `/docs/<name>` for each name: the guide, with links to the others. The first request loads their texts, half a
 * megabyte.
 */
export function createGuides(
  names: readonly string[],
  { load, assets }: { readonly load: () => Promise<readonly Guide[]>; readonly assets: PageAssets },
): Pages {
  const render = async (name: string): Promise<Page> => {
    const guides = await load()
    const guide = guides.find((each) => each.name === name)
    if (guide === undefined) throw new Error(`Cannot show the guide "${name}": expected a text of that name`)
    const { title, content } = guide
    const links = guides.map((each) =>
      each.name === name
        ? `<a aria-current="page" href="${name}">${each.title}</a>`
        : renderLink(each.name, each.title),
    )
    const nav = `<nav aria-label="Guides" class="guides">\n${links.join('\n')}\n</nav>`
    const text = { title, body: `${nav}\n<article>\n${content}</article>`, kind: 'guide' }
    return createTextPage({ ...text, page: 'API', isPage: false, assets, root: '../' })
  }
  return new Map(names.map((name) => [`${DOCS_PATH}/${name}`, createLazyPage(() => render(name))]))
}

function renderLink(address: string, name: string): string {
  return `<a href="${address}">${name}</a>`
}
