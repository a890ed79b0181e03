import { once } from '../../lib/memoize.ts'
import type { Page, Pages } from './html.ts'

/** Creates a page that the first request for it makes: what few ask for shall not delay the start. */
export function createLazyPage(create: () => Page | Promise<Page>): Page {
  const page = once(async () => await create())
  return async (requestId, request) => (await page())(requestId, request)
}

/** Creates the page of a path in the same way; throws at its first request if `create` makes none of that path. */
export function createLazyPages(path: string, create: () => Promise<Pages>): Pages {
  const page = createLazyPage(async () => {
    const made = (await create()).get(path)
    if (made === undefined) throw new Error(`Cannot show "${path}": expected a page of that path`)
    return made
  })
  return new Map([[path, page]])
}
