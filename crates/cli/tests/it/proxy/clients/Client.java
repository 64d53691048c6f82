import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;

public class Client {
    static final String BASE = "https://api.metroon.test";

    static void body(String name, byte[] content) throws Exception {
        String hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        System.out.println("body " + name + " " + content.length + " " + hash);
    }

    static HttpRequest.Builder ask(String path) {
        return HttpRequest.newBuilder(URI.create(BASE + path));
    }

    public static void main(String[] words) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (String path : new String[] {"/json", "/bytes/200000", "/encoded/gzip", "/count", "/count"}) {
            var answer = client.send(ask(path).build(), BodyHandlers.ofByteArray());
            System.out.println("line " + path + " " + answer.version() + " " + answer.statusCode());
            body(path, answer.body());
        }
        var upload = ask("/upload").POST(HttpRequest.BodyPublishers.ofString("croak".repeat(1000))).build();
        body("upload", client.send(upload, BodyHandlers.ofByteArray()).body());
        body("URL", new URL(BASE + "/json").openStream().readAllBytes());
        InputStream events = client.send(ask("/sse?n=5&gap=100").build(), BodyHandlers.ofInputStream()).body();
        byte[] buffer = new byte[4096];
        for (int count = events.read(buffer); count >= 0; count = events.read(buffer)) {
            String shown = HexFormat.of().formatHex(Arrays.copyOf(buffer, count));
            System.out.println("piece " + System.nanoTime() / 1_000_000 + " sse " + shown);
        }
    }
}
