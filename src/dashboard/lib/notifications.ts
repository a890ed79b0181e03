/** Notifications of this page that may still be shown. */
const shown = new Set<Notification>()

/** Whether this browser shows notifications; undefined if it has none. */
export function readPermission() {
  return typeof Notification === 'undefined' ? undefined : Notification.permission
}

/** Shows a text beside the page if the reader allowed it; one with the same id once, however many tabs are open. */
export function showNotification(id: string, text: string) {
  if (readPermission() !== 'granted') return
  try {
    const notification = new Notification('walletscope', { body: text, tag: id })
    shown.add(notification)
    notification.onclose = () => shown.delete(notification)
  } catch {
    // Some browsers of phones have notifications for installed pages alone.
  }
}

/** Takes back what is shown: the system keeps it longer than the page has the key that it was read by. */
export function closeNotifications() {
  for (const notification of shown) notification.close()
  shown.clear()
}
