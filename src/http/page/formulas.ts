import { getUnit, isFigure } from '../openapi/figures.ts'
import { escapeHtml, type Page, type Pages } from './html.ts'
import { createTextPage, type PageAssets } from './text_page.ts'

interface Formula {
  /** Names in answers; `kamino/amount` if the name means something else in another family. */
  readonly figures: readonly string[]
  readonly text: string
  readonly source: string | null
  readonly proofs: readonly string[]
  readonly code: string
}

interface Figure {
  /** Third segment of the path. */
  readonly family: string
  readonly name: string
  /** Number formats: `decimal, 6 digits after the point`. */
  readonly formats: readonly string[]
}

/** The parts of a JSON Schema in which figures are searched. */
interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly anyOf?: readonly Node[]
  readonly 'x-format'?: string
  readonly $ref?: string
}

/** Path of the page. */
export const FORMULAS_PATH = '/formulas'

/** Family of figures that the page Explore computes and no answer has. */
const EXPLORE = 'explore'
/** Names of columns, also shown in each cell on narrow screens. */
const COLUMNS = ['Figure', 'Formula', 'Unit', 'Source', 'Code and proof']
/**
 * Creates `/formulas`: every figure of the document with its formula, unit, source, code and proof, and the revision of
 * each family's formulas.
 */
export function createFormulas(
  formulas: readonly Formula[],
  openapi: string,
  { revisions, look: assets }: { readonly revisions: ReadonlyMap<string, number>; readonly look: PageAssets },
): Pages {
  const figures = [...listFigures(openapi), ...listPageFigures(formulas)]
  const families = [...new Set(figures.map(({ family }) => family))]
  const sections = families
    .map((family) => renderSection(family, { figures, formulas, revision: revisions.get(family) }))
    .join('\n')
  const body = `<h1>Formulas</h1>
<p>How every figure in an answer is calculated, taken from the code that does it, with the tests that prove it. <a href="docs">The API</a> says where each stands, and <a href="docs/figures">a guide</a> what each means.</p>
${sections}`
  const text = { title: 'formulas', body, page: 'Formulas', isPage: true, assets } as const
  return new Map<string, Page>([[FORMULAS_PATH, createTextPage(text)]])
}

/** Lists the figures of all answers of a document, by family, each once. */
export function listFigures(openapi: string): readonly Figure[] {
  const { paths, components } = JSON.parse(openapi)
  const figures = new Map<string, { family: string; name: string; formats: Set<string> }>()
  for (const [path, methods] of Object.entries<Record<string, { responses: Record<string, unknown> }>>(paths)) {
    const family = path.startsWith('/v1/') ? path.split('/')[3] : undefined
    if (family === undefined) continue
    for (const { responses } of Object.values(methods)) {
      const answer = responses['200'] as { readonly content?: Readonly<Record<string, { readonly schema: Node }>> }
      const report = (name: string, format: string) => {
        const figure = figures.get(`${family}/${name}`) ?? { family, name, formats: new Set<string>() }
        figure.formats.add(format)
        figures.set(`${family}/${name}`, figure)
      }
      walk(answer.content?.['application/json']?.schema ?? {}, '', { schemas: components.schemas, report })
    }
  }
  return [...figures.values()].map(({ family, name, formats }) => ({ family, name, formats: [...formats] }))
}

/** Lists the figures that Explore computes from those of answers: their names begin with `explore/`. */
export function listPageFigures(formulas: readonly Formula[]): readonly Figure[] {
  return formulas
    .flatMap(({ figures }) => figures)
    .filter((name) => name.startsWith(`${EXPLORE}/`))
    .map((name) => ({ family: EXPLORE, name: name.slice(EXPLORE.length + 1), formats: ['counted by the page'] }))
}

/** Finds the formulas of one figure. */
export function findFormulas<Item extends Formula>(
  { family, name }: Figure,
  formulas: readonly Item[],
): readonly Item[] {
  return formulas.filter(({ figures }) => figures.includes(name) || figures.includes(`${family}/${name}`))
}

function walk(
  node: Node,
  name: string,
  found: {
    /** Shared schemas by name. */
    readonly schemas: Readonly<Record<string, Node>>
    readonly report: (name: string, format: string) => void
  },
): void {
  const format = node['x-format']
  if (isFigure(name, format)) found.report(name, format)
  const shared = found.schemas[node.$ref?.split('/').at(-1) ?? '']
  if (shared !== undefined) walk(shared, name, found)
  for (const [key, field] of Object.entries(node.properties ?? {})) walk(field, key, found)
  for (const each of node.anyOf ?? []) walk(each, name, found)
  if (node.items !== undefined) walk(node.items, name, found)
}

function renderSection(
  family: string,
  {
    figures,
    formulas,
    revision,
  }: {
    readonly figures: readonly Figure[]
    readonly formulas: readonly Formula[]
    readonly revision: number | undefined
  },
): string {
  const rows = figures
    .filter((figure) => figure.family === family)
    .map((figure) => renderRow(figure, findFormulas(figure, formulas)))
  const revised = revision === undefined ? '' : `<p>Revision ${revision}: receipts name it.</p>\n`
  return `<h2 id="${escapeHtml(family)}">${escapeHtml(family)}</h2>
${revised}<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(family)}"><table>
<thead><tr>${COLUMNS.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table></div>`
}

function renderRow({ family, name, formats }: Figure, formulas: readonly Formula[]): string {
  const units = family === EXPLORE ? [] : new Set(formats.map((format) => getUnit(name, format)))
  const cells = [
    formulas.map(({ text }) => renderProse(text)),
    [[...units, ...formats].map(escapeHtml).join('; ')],
    formulas.flatMap(({ source }) => (source === null ? [] : [renderProse(source)])),
    formulas.map(({ code, proofs }) =>
      [code, ...proofs].map((each) => `<code>${escapeHtml(each)}</code>`).join('<br>'),
    ),
  ]
  const named = `<th scope="row" id="${escapeHtml(`${family}.${name}`)}"><code>${escapeHtml(name)}</code></th>`
  const names = COLUMNS.slice(1)
  return `<tr>${named}${cells.map((parts, index) => `<td data-name="${names[index]}">${parts.join('<br><br>')}</td>`).join('')}</tr>`
}

function renderProse(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}
