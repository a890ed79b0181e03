import { DOCS_PATH } from './docs.ts'
import type { Page, Pages } from './page.ts'
import { plainPage } from './plain.ts'

/** A guide for people. */
interface Guide {
  /** Last part of its address. */
  readonly name: string
  readonly title: string
  /** HTML that is ours. */
  readonly content: string
}

/** `/docs/<name>`: each guide, with links to the others, to the reference and to the formulas. */
export function createGuides(guides: readonly Guide[]): Pages {
  return new Map<string, Page>(
    guides.map(({ name, title, content }) => {
      const links = guides.map((each) =>
        each.name === name ? `<a aria-current="page" href="${name}">${each.title}</a>` : linkTo(each.name, each.title),
      )
      const nav = [linkTo('../', 'Explore'), linkTo('../docs', 'API'), linkTo('../formulas', 'Formulas'), ...links]
      const body = `<header><nav aria-label="Guides">\n${nav.join('\n')}\n</nav></header>\n<main class="guide">\n${content}</main>`
      return [`${DOCS_PATH}/${name}`, plainPage({ title, body })]
    }),
  )
}

function linkTo(address: string, name: string): string {
  return `<a href="${address}">${name}</a>`
}
