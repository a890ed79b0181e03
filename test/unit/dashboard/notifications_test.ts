import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Pages {
  showNotification(id: string, text: string): void
  closeNotifications(): void
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/notifications.ts')
const { showNotification, closeNotifications }: Pages = await import(PATH)
const { Notification: own } = globalThis as { Notification?: unknown }
afterEach(() => {
  closeNotifications()
  Object.assign(globalThis, { Notification: own })
})

/** Stands for a browser's notifications, and lists what is shown and how often one was closed. */
function install(permission: string) {
  const visible: string[] = []
  let closings = 0
  class Shown {
    static permission = permission
    onclose: (() => void) | undefined
    readonly line: string
    constructor(_: string, { body, tag }: { readonly body: string; readonly tag: string }) {
      this.line = `${tag} ${body}`
      visible.push(this.line)
    }
    close() {
      closings++
      visible.splice(visible.indexOf(this.line), 1)
      this.onclose?.()
    }
  }
  Object.assign(globalThis, { Notification: Shown })
  return { visible, countClosings: () => closings }
}

test('what was shown to a key is taken back with it, once', () => {
  const { visible, countClosings } = install('granted')
  showNotification('m1', 'first')
  showNotification('m2', 'second')
  expect(visible).toEqual(['m1 first', 'm2 second'])
  closeNotifications()
  closeNotifications()
  expect([visible, countClosings()]).toEqual([[], 2])
})

test('nothing is shown that the reader did not allow, or where there is nothing to show it', () => {
  const { visible } = install('default')
  showNotification('m1', 'first')
  Object.assign(globalThis, { Notification: undefined })
  showNotification('m2', 'second')
  expect(visible).toEqual([])
})
