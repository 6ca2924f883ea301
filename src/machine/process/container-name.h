/* Names of containers. A control group has a container's number, and a pod's UID, alone; the names are where the container engine keeps its state:
 *
 *   Kubernetes  /var/log/containers/POD_NAMESPACE_NAME-NUMBER.log       (links that the kubelet makes when a container has started)
 *               /var/log/pods/NAMESPACE_POD_UID                         (folders, which it makes before)
 *   Docker      /var/lib/docker/containers/NUMBER/config.v2.json        {..."Name":"/web"...}
 *   podman      /var/lib/containers/storage/overlay-containers/containers.json, /run/... volatile-containers.json
 *                                                                       [{"id":"NUMBER","names":["web"]...}...], of root
 */
#pragma once

#define CONTAINER_FOLDERS_MAX 10000	      /* names that are looked at: a node has some hundred containers */
#define CONTAINER_STATE_MAX   ((size_t)4 << 20) /* bytes of a file */

/* "NAMESPACE/POD/NAME" or "NAME" for a container that describe_cgroup() calls "podUID/ID" or "ID"; with the ID in place of NAME where only the pod's
 * name is known; NULL where no name is. `root` stands before the paths: "" or a recorded tree. The caller frees. */
char *container_name(const char *root, const char *container);
