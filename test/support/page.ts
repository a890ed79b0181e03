import type { Page } from '../../src/http/page/html.ts'
import type { PreparedAnswer } from '../../src/http/respond.ts'

/** Asks a page, and returns its answer with the bytes that would be sent. */
export async function askPage(
  page: Page | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<PreparedAnswer & { readonly bytes: Buffer; readonly text: string }> {
  if (page === undefined) throw new Error('There is no such page')
  const answer = await page('req_1', new Request('http://h/', { headers }))
  const bytes = answer.shared === undefined ? Buffer.from(answer.body ?? '') : Buffer.from(answer.shared.bytes)
  return { ...answer, bytes, text: bytes.toString() }
}
