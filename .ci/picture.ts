import { join } from 'node:path'
import { audit, openLink, openPage, settle } from '../test/system/browser/browser.ts'

/** `bun run picture`: takes the pictures of README, light and dark, of the demo's Explore page in Chromium. */
const FOLDER = join(import.meta.dir, '../src/dashboard/guide')
const VIEW = { width: 1280, height: 960 }
const PATIENCE_MS = 120_000

const demo = Bun.spawn(['bun', join(import.meta.dir, '../test/devnet/demo.ts')], { stdout: 'pipe', stderr: 'ignore' })
const { page } = await openPage({ viewport: VIEW })
try {
  const { key, url, wallet } = await readShown(demo.stdout)
  page.setDefaultTimeout(PATIENCE_MS)
  await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${key}')`)
  await openLink(page, `${url}#wallet=${wallet}`, { areCardsOpen: false })
  await settle(page)
  await page.locator('.row').first().waitFor()
  await page.locator('#net-worth[title]').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(FOLDER, `explore_${colorScheme}.png`) })
  }
  const found = await audit(page)
  if (found.length > 0) throw new Error(`Cannot show this page: ${found.join('\n')}`)
} finally {
  await page.context().browser()?.close()
  demo.kill('SIGINT')
  await demo.exited
}

/** What the demo prints: a key, its own address and a wallet with positions. */
async function readShown(lines: ReadableStream<Uint8Array>) {
  let text = ''
  for await (const chunk of lines) {
    text += new TextDecoder().decode(chunk)
    const [, key] = text.match(/(ws_sk_[0-9A-Za-z]{24})/) ?? []
    const [, url, wallet] =
      text.match(/'(http:\/\/[^/']+\/)v1\/positions\/uniswap-v3\?wallet=(0x[0-9a-fA-F]{40})/) ?? []
    if (key !== undefined && url !== undefined && wallet !== undefined) return { key, url, wallet }
  }
  throw new Error('Cannot take pictures: the demo ended before it printed its calls')
}
