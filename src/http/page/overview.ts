import { DOCS_PATH } from './docs.ts'
import { escapeHtml } from './html.ts'
import { createOpenapiPage } from './openapi.ts'
import type { Pages } from './page.ts'
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

/** `/docs`: how to call the API, the guides, and every operation with its price and the way to its reference. */
export function createOverview(
  openapi: string,
  {
    guides,
    look,
  }: { readonly guides: readonly { readonly name: string; readonly title: string }[]; readonly look: PageAssets },
): Pages {
  const { info, paths }: Document = JSON.parse(openapi)
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  const tags = [...new Set(rows.map(tagOf))]
  const body = `<h1>The API</h1>
${introduction(info.description)}
<p class="more"><a class="button" href="docs/reference">Reference and console</a> <a href="openapi.json">openapi.json</a></p>
<nav aria-label="Guides" class="guides">${guides.map(({ name, title }) => `<a href="docs/${name}">${title}</a>`).join('\n')}</nav>
${tags
  .map((tag) =>
    sectionOf(
      tag,
      rows.filter((row) => tagOf(row) === tag),
    ),
  )
  .join('\n')}`
  const text = renderTextPage({ title: 'the API', body, page: 'API', isPage: true, look })
  return new Map([[DOCS_PATH, createOpenapiPage(text, TEXT_PAGE_HEADERS)]])
}

function tagOf({ tags: [tag] = [], path }: Row): string {
  return path.startsWith('/v1/') ? (tag ?? 'other') : 'pages'
}

function sectionOf(tag: string, rows: readonly Row[]): string {
  return `<h2 id="${escapeHtml(tag)}">${escapeHtml(tag)}</h2>
<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(tag)}"><table>
<thead><tr><th scope="col">Operation</th><th scope="col">What it answers</th><th scope="col">Price</th></tr></thead>
<tbody>
${rows.map(rowOf).join('\n')}
</tbody></table></div>`
}

function rowOf({ method, path, summary, tags: [tag] = [], 'x-credits': price }: Row): string {
  const name = `<code>${method} ${escapeHtml(path)}</code>`
  const linked =
    tag === undefined ? name : `<a href="docs/reference#tag/${tag}/${method}${escapeHtml(path)}">${name}</a>`
  return `<tr><th scope="row">${linked}</th><td data-name="What it answers">${escapeHtml(summary)}</td><td data-name="Price">${escapeHtml(price ?? 'Free.')}</td></tr>`
}

/** The introduction is Markdown of ours: paragraphs, and lists of one level with strong words, code and links. */
function introduction(markdown: string): string {
  return markdown
    .trim()
    .split('\n\n')
    .map((part) => {
      if (!part.startsWith('- ')) return `<p>${inline(part)}</p>`
      const items = part.split('\n').map((line) => `<li>${inline(line.slice(2))}</li>`)
      return `<ul>\n${items.join('\n')}\n</ul>`
    })
    .join('\n')
}

function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]*)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]*)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]*)\]\(([\w./]+)\)/g, '<a href="$2">$1</a>')
}
