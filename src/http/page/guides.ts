import { DOCS_PATH } from './docs.ts'
import type { Page, Pages } from './page.ts'
import { createTextPage, type PageAssets } from './text_page.ts'

interface Guide {
  /** Last part of its address. */
  readonly name: string
  readonly title: string
  /** Trusted HTML. */
  readonly content: string
}

/** Creates `/docs/<name>`: each guide, with links to the others. */
export function createGuides(guides: readonly Guide[], assets: PageAssets): Pages {
  return new Map<string, Page>(
    guides.map(({ name, title, content }) => {
      const links = guides.map((each) =>
        each.name === name
          ? `<a aria-current="page" href="${name}">${each.title}</a>`
          : renderLink(each.name, each.title),
      )
      const nav = `<nav aria-label="Guides" class="guides">\n${links.join('\n')}\n</nav>`
      const text = { title, body: `${nav}\n<article>\n${content}</article>`, kind: 'guide' }
      return [`${DOCS_PATH}/${name}`, createTextPage({ ...text, page: 'API', isPage: false, assets, root: '../' })]
    }),
  )
}

function renderLink(address: string, name: string): string {
  return `<a href="${address}">${name}</a>`
}
