# Makes gateways of the servers in nginx's tests: a server whose "location /" only passes everything to one address gets
# "weir_gateway on" instead, and a control daemon of the test's own has its site, route and upstream. Loaded before a test
# by PERL5OPT; WEIR names the command.
package WeirGateway;

use strict;
use warnings;

my $control;

# Of "location /" in a server: the address, and the time-outs as a route has them. Nothing if it has more to it.
sub origin {
	my ($server) = @_;
	my ($body) = $server =~ /location\s+\/\s*\{([^{}]*)\}/ or return;
	my ($address, %timeouts);
	for my $directive (grep { /\S/ } split /;/, $body) {
		my ($name, @values) = split ' ', $directive;
		if ($name eq 'proxy_pass' && $values[0] =~ m{^http://(127\.0\.0\.1:\d+)$}) {
			$address = $1;
		} elsif ($name =~ /^proxy_(read|send|connect)_timeout$/) {
			$timeouts{$1} = $values[0];
		} elsif ($name eq 'proxy_http_version' || "@values" =~ /^(?:Upgrade \$http_upgrade|Connection "Upgrade")$/) {
			next; # the gateway does so by itself
		} else {
			return;
		}
	}
	return ($address, \%timeouts);
}

sub convert {
	my ($text, $dir) = @_;
	my ($n, %seen) = (0);
	my (%sites, %routes, %upstreams);
	my $one = sub {
		my ($server) = @_;
		my ($address, $timeouts) = origin($server);
		my ($names) = $server =~ /server_name\s+([^;]+);/;
		my @names = grep { /^[\w.-]+$/ } split ' ', $names // '';
		return $server if !$address || $server =~ /server_name\s+[^;]*[~*"]/ || $seen{"@names"}++;
		my $id = 's' . ++$n;
		push @names, '*' if $n == 1; # requests without a host, as nginx's first server gets them
		$sites{$id} = '{hosts: [' . join(', ', map { "\"$_\"" } @names) . ']}';
		my $times = join ', ', map { "$_: $timeouts->{$_}" } sort keys %$timeouts;
		$routes{$id} = "{site: $id, path: /, to: $id" . ($times && ", timeouts: {$times}") . '}';
		$upstreams{$id} = "{members: {only: \"$address\"}}";
		$server =~ s/location\s+\/\s*\{[^{}]*\}/weir_gateway on;/;
		return $server;
	};
	$text =~ s/(\n    server\s*\{.*?\n    \})/$one->($1)/gse;
	return ($text, '') unless $n;
	my $documents = '';
	for (['sites', \%sites], ['routes', \%routes], ['upstreams', \%upstreams]) {
		my ($kind, $of) = @$_;
		$documents .= "$kind:\n" . join '', map { "  $_: $of->{$_}\n" } sort keys %$of;
	}
	$text =~ s/(\nhttp\s*\{)/$1\n    weir_runtime $dir\/weir;/;
	return ($text, $documents);
}

sub start_control {
	my ($dir, $documents) = @_;
	my @weir = ($ENV{WEIR}, '--runtime', "$dir/weir");
	$control = fork() // die "fork: $!";
	if (!$control) {
		open STDOUT, '>', "$dir/control.log"; open STDERR, '>&', \*STDOUT;
		exec @weir, 'control', '--state', "$dir/state" or exit 1;
	}
	open my $file, '>', "$dir/gateway.yaml" or die $!;
	print $file $documents;
	close $file;
	for (1 .. 100) {
		return if -S "$dir/weir/control.sock" && !system "@weir apply $dir/gateway.yaml >$dir/apply.log 2>&1";
		select undef, undef, undef, 0.1;
	}
	print "Bail out!  weir apply: ", `cat $dir/apply.log $dir/control.log`, "\n";
	exit 1;
}

INIT {
	if (defined &Test::Nginx::write_file) {
		no warnings 'redefine';
		my $write = \&Test::Nginx::write_file;
		*Test::Nginx::write_file = sub {
			my ($self, $name, $content) = @_;
			if ($name eq 'nginx.conf') {
				my ($text, $documents) = convert($content, $self->{_testdir});
				$content = $text;
				start_control($self->{_testdir}, $documents) if $documents && !$control;
			}
			$write->($self, $name, $content);
		};
		my $end = \&Test::Nginx::DESTROY;
		*Test::Nginx::DESTROY = sub {
			my ($self) = @_;
			if ($control && $self->{_pid} == $$) {
				local $?;
				kill 'TERM', $control;
				waitpid $control, 0;
			}
			$end->(@_);
		};
	}
}

1;
