import { afterAll, afterEach, beforeAll, expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { openPage, type Watched } from './browser.ts'
import { type Scene, startScene } from './scene.ts'

/** One scene for all tests of a `describe`. */
export interface Stage {
  readonly scene: Scene
  /** URLs that the page of the test has requested. */
  readonly requests: readonly string[]
  /** Opens the page of a test. The test fails if the page logs an error or requests another host. */
  open(): Promise<Page>
}

/** Sets the stage before the tests. `startMs`: limit for that; `answerMs`: default timeout of the page. */
export function setStage(options: {
  readonly lending: boolean
  readonly startMs: number
  readonly answerMs: number
  /** Additional configuration. */
  readonly env?: Readonly<Record<string, string>>
}): Stage {
  const { lending, startMs, answerMs, env = {} } = options
  let scene: Scene
  let watched: Watched
  beforeAll(async () => {
    scene = await startScene({ lending, env })
  }, startMs)
  afterAll(async () => {
    await scene?.stop()
  }, startMs)
  afterEach(async () => {
    const { complaints, requests } = watched
    await watched.close()
    expect(complaints).toEqual([])
    expect(requests.filter((address) => !address.startsWith(scene.url))).toEqual([])
  })
  return {
    get scene() {
      return scene
    },
    get requests() {
      return watched.requests
    },
    async open() {
      watched = await openPage()
      watched.page.setDefaultTimeout(answerMs)
      return watched.page
    },
  }
}
