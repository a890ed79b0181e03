import type { Clock } from '../../lib/clock.ts'
import { DOCS_PATH } from './docs.ts'
import { escapeHtml, type Pages } from './html.ts'
import { createOpenapiPage } from './openapi.ts'
import { type PageAssets, renderTextPage, TEXT_PAGE_HEADERS } from './text_page.ts'

interface Document {
  readonly info: { readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly summary: string
  readonly tags?: readonly string[]
  readonly 'x-credits'?: string
}

interface Row extends Operation {
  readonly method: string
  readonly path: string
}

/** Creates `/docs`: how to call the API, the guides, and every operation with its price and a link to its reference. */
export function createOverview(
  openapi: string,
  {
    guides,
    assets,
    clock,
  }: {
    readonly guides: readonly { readonly name: string; readonly title: string }[]
    readonly assets: PageAssets
    readonly clock: Clock
  },
): Pages {
  const { info, paths }: Document = JSON.parse(openapi)
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  const tags = [...new Set(rows.map(getTag))]
  const body = `<h1>The API</h1>
${renderIntroduction(info.description)}
<p class="more"><a class="button" href="docs/reference">Reference and console</a> <a href="docs/errors">Errors</a> <a href="openapi.json">openapi.json</a></p>
<nav aria-label="Guides" class="guides">${guides.map(({ name, title }) => `<a href="docs/${name}">${title}</a>`).join('\n')}</nav>
${tags
  .map((tag) =>
    renderSection(
      tag,
      rows.filter((row) => getTag(row) === tag),
    ),
  )
  .join('\n')}`
  const text = renderTextPage({ title: 'the API', body, page: 'API', isPage: true, assets })
  return new Map([[DOCS_PATH, createOpenapiPage(text, { clock, headers: TEXT_PAGE_HEADERS })]])
}

function getTag({ tags: [tag] = [], path }: Row): string {
  return path.startsWith('/v1/') ? (tag ?? 'other') : 'pages'
}

function renderSection(tag: string, rows: readonly Row[]): string {
  return `<h2 id="${escapeHtml(tag)}">${escapeHtml(tag)}</h2>
<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(tag)}"><table>
<thead><tr><th scope="col">Operation</th><th scope="col">What it answers</th><th scope="col">Price</th></tr></thead>
<tbody>
${rows.map(renderRow).join('\n')}
</tbody></table></div>`
}

function renderRow({ method, path, summary, tags: [tag] = [], 'x-credits': price }: Row): string {
  const name = `<code>${method} ${escapeHtml(path)}</code>`
  const linked =
    tag === undefined ? name : `<a href="docs/reference#tag/${tag}/${method}${escapeHtml(path)}">${name}</a>`
  return `<tr><th scope="row">${linked}</th><td data-name="What it answers">${escapeHtml(summary)}</td><td data-name="Price">${escapeHtml(price ?? 'Free.')}</td></tr>`
}

/** Renders the introduction's Markdown: paragraphs, and lists of one level with strong words, code and links. */
function renderIntroduction(markdown: string): string {
  return markdown
    .trim()
    .split('\n\n')
    .map((part) => {
      if (!part.startsWith('- ')) return `<p>${renderInline(part)}</p>`
      const items = part.split('\n').map((line) => `<li>${renderInline(line.slice(2))}</li>`)
      return `<ul>\n${items.join('\n')}\n</ul>`
    })
    .join('\n')
}

function renderInline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]*)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]*)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]*)\]\(([\w./]+)\)/g, '<a href="$2">$1</a>')
}
